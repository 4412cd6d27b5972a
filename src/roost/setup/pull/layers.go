package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

const (
	chunkBytes       = 256 << 10
	mostWindowBytes  = 128 << 20 // what a zstd stream may have us keep in memory
	mostAppliedBytes = 64 << 10  // of what `apply` answers
	slackBytes       = 10 << 20  // what may follow an archive
)

// applied is what a layer came to, and what is asked of `apply`: what may still be written.
type applied struct {
	Into    string   `json:"into,omitempty"`
	First   bool     `json:"first,omitempty"` // there is nothing below
	Bytes   int64    `json:"bytes"`
	Entries int64    `json:"entries"`
	LeftOut int64    `json:"left_out"`
	Error   *failure `json:"error,omitempty"`
}

// unpack applies the layers from the lowest up, as they were made. Each is proven twice: as it was sent, and as it was packed.
func unpack(ctx context.Context, asked request, image *found) (applied, error) {
	var total applied
	layers, err := image.image.Layers()
	if err != nil {
		return total, err
	}
	config, err := image.image.ConfigFile()
	if err != nil {
		return total, err
	}
	for number, layer := range layers {
		kind, err := layer.MediaType()
		if err != nil {
			return total, err
		}
		if !kind.IsLayer() || !kind.IsDistributable() {
			return total, fail(Broken, "its layer %d is of the type %s", number+1, kind)
		}
		left := applied{
			Into: asked.Into, First: number == 0,
			Bytes: asked.LimitBytes - total.Bytes, Entries: asked.LimitEntries - total.Entries,
		}
		done, err := unpackLayer(ctx, layer, config.RootFS.DiffIDs[number], left)
		if err != nil {
			return total, err
		}
		total.Bytes += done.Bytes
		total.Entries += done.Entries
		total.LeftOut += done.LeftOut
	}
	return total, nil
}

func unpackLayer(ctx context.Context, layer v1.Layer, packed v1.Hash, left applied) (applied, error) {
	compressed, err := layer.Compressed()
	if err != nil {
		return applied{}, err
	}
	defer compressed.Close()
	sent := &watched{inner: compressed}
	plain, err := decompressed(bufio.NewReaderSize(sent, chunkBytes))
	if err != nil {
		return applied{}, sent.orBroken(err)
	}
	defer plain.Close()

	// Cancelled when its stream breaks: what `apply` would say of half an archive helps nobody.
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	child, input, output, err := start(within, left)
	if err != nil {
		return applied{}, err
	}
	hash := sha256.New()
	streamed := make(chan error, 1)
	go func() {
		limited := &counted{into: input, left: left.Bytes + slackBytes}
		_, err := io.CopyBuffer(io.MultiWriter(limited, hash), plain, make([]byte, chunkBytes))
		if err == nil {
			// Behind the end of what it packs a stream may go on: until it is read, nothing is proven.
			_, err = io.Copy(io.Discard, sent)
		}
		if err != nil && !isUnread(err) {
			cancel()
		}
		input.Close()
		streamed <- err
	}()
	done, told := readApplied(output)
	waited := child.Wait()
	broke := <-streamed
	switch {
	case broke != nil && !isUnread(broke):
		return applied{}, sent.orBroken(broke)
	case told != nil:
		return applied{}, fail(Fault, "the process that unpacks ended without an answer (%v, %v)", told, waited)
	case done.Error != nil:
		return applied{}, done.Error
	}
	if got := hex.EncodeToString(hash.Sum(nil)); packed.Algorithm != "sha256" || got != packed.Hex {
		return applied{}, fail(Broken, "a layer holds sha256:%s, and its configuration says %s", got, packed)
	}
	return done, nil
}

// start runs `apply` in namespaces of its own, without a network. It makes itself a root of nothing but the directory.
func start(ctx context.Context, left applied) (*exec.Cmd, io.WriteCloser, io.ReadCloser, error) {
	child := exec.CommandContext(ctx, "/proc/self/exe", "apply")
	child.Env = []string{}
	child.Stderr = os.Stderr
	child.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS | syscall.CLONE_NEWPID,
		Pdeathsig:  syscall.SIGKILL,
	}
	input, err := child.StdinPipe()
	if err != nil {
		return nil, nil, nil, err
	}
	output, err := child.StdoutPipe()
	if err != nil {
		return nil, nil, nil, err
	}
	if err := child.Start(); err != nil {
		return nil, nil, nil, fail(Fault, "the process that unpacks could not be started: %v", err)
	}
	header, err := json.Marshal(left)
	if err == nil {
		_, err = fmt.Fprintf(input, "%s\n", header)
	}
	return child, input, output, err
}

// isUnread: `apply` has ended before the stream, and says why.
func isUnread(err error) bool { return errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed) }

func readApplied(output io.Reader) (applied, error) {
	var done applied
	return done, readJSON(output, mostAppliedBytes, &done)
}

func decompressed(from *bufio.Reader) (io.ReadCloser, error) {
	magic, err := from.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		return gzip.NewReader(from)
	case bytes.HasPrefix(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		decoder, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(mostWindowBytes))
		if err != nil {
			return nil, err
		}
		return decoder.IOReadCloser(), nil
	}
	return io.NopCloser(from), nil
}

// watched remembers how a stream of the registry's failed, whatever its readers make of that.
type watched struct {
	inner io.Reader
	err   error
}

func (w *watched) Read(into []byte) (int, error) {
	read, err := w.inner.Read(into)
	if err != nil && !errors.Is(err, io.EOF) && w.err == nil {
		w.err = err
	}
	return read, err
}

// orBroken is how the stream failed. If it did not, what it holds is no archive.
func (w *watched) orBroken(err error) error {
	var known *failure
	switch {
	case w.err != nil:
		return w.err
	case errors.As(err, &known):
		return err
	}
	return fail(Broken, "a layer cannot be unpacked: %v", err)
}

// counted takes no more than its limit: an archive may hold a thousand times what was sent.
type counted struct {
	into io.Writer
	left int64
}

func (c *counted) Write(chunk []byte) (int, error) {
	if c.left -= int64(len(chunk)); c.left < 0 {
		return 0, fail(TooLarge, "unpacked it has more bytes than are allowed")
	}
	return c.into.Write(chunk)
}
