package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	whiteout     = ".wh."
	opaque       = ".wh..wh..opq"
	longestPath  = 4095
	entryBytes   = 2048     // what an entry costs beside its content: its headers, its place in the tree
	holeBytes    = 64 << 10 // so many zeros in a row are not written
	pendingMost  = 64 << 20 // of the directories whose times are still to be set
	deepestLinks = 16       // from directory to directory, before one is made
	xattrs       = "SCHILY.xattr."
)

func applyMain() {
	input := bufio.NewReaderSize(os.Stdin, chunkBytes)
	var left applied
	line, err := input.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &left)
	}
	if err == nil {
		err = contain(left.Into, left.Bytes)
	}
	var done applied
	if err != nil {
		done.Error = &failure{Fault, err.Error()}
	} else {
		a := newApplier(left)
		if err := a.apply(input); err != nil {
			done.Error = a.explain(err)
		} else {
			done = a.done
		}
	}
	json.NewEncoder(os.Stdout).Encode(done)
}

// applier writes one layer over what lies below it. Its root is the image's: every path is the image's own.
type applier struct {
	left     applied // what may still be written
	done     applied
	current  string // the entry that is being written
	seed     maphash.Seed
	made     map[uint64]struct{} // hashes of the paths of this layer: an opaque directory keeps these; nil where nothing lies below
	pending  []stamped
	pendings int
	buffer   []byte
}

type stamped struct {
	path string
	at   time.Time
}

func newApplier(left applied) *applier {
	a := &applier{left: left, seed: maphash.MakeSeed(), buffer: make([]byte, chunkBytes)}
	if !left.First {
		a.made = map[uint64]struct{}{}
	}
	return a
}

func (a *applier) apply(input io.Reader) error {
	archive := tar.NewReader(input)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fail(Broken, "a layer is no archive that can be read: %v", err)
		}
		a.current = header.Name
		if err := a.count(header); err != nil {
			return err
		}
		if err := a.entry(archive, header); err != nil {
			return err
		}
	}
	a.current = ""
	a.stamp()
	// What follows the archive is part of what was signed for.
	_, err := io.Copy(io.Discard, input)
	return err
}

func (a *applier) count(header *tar.Header) error {
	if header.Size < 0 || header.Size > a.left.Bytes {
		return fail(TooLarge, "%s alone has %d bytes", shortened(header.Name), header.Size)
	}
	a.done.Entries++
	a.done.Bytes += header.Size + entryBytes
	if a.done.Entries > a.left.Entries {
		return fail(TooLarge, "it has more files than are allowed")
	}
	if a.done.Bytes > a.left.Bytes {
		return fail(TooLarge, "unpacked it has more bytes than are allowed")
	}
	return nil
}

func (a *applier) entry(archive *tar.Reader, header *tar.Header) error {
	if len(header.Name) > longestPath || strings.ContainsRune(header.Name, 0) || strings.ContainsRune(header.Linkname, 0) {
		return fail(Broken, "a name in it is longer than %d bytes, or holds a NUL", longestPath)
	}
	if header.Uid < 0 || header.Gid < 0 || int64(header.Uid) > 1<<32-2 || int64(header.Gid) > 1<<32-2 {
		return fail(Broken, "%s belongs to %d:%d", shortened(header.Name), header.Uid, header.Gid)
	}
	name := path.Clean("/" + header.Name)
	folder, base := path.Split(name)
	if strings.HasPrefix(base, whiteout) {
		return a.whiteout(path.Clean(folder), base)
	}
	if name == "/" && header.Typeflag != tar.TypeDir {
		return fail(Broken, "its top is no directory")
	}
	var err error
	switch header.Typeflag {
	case tar.TypeReg, tar.TypeGNUSparse, tar.TypeCont:
		err = a.file(archive, name, header)
	case tar.TypeDir:
		err = a.directory(name, header)
	case tar.TypeSymlink:
		err = a.place(name, func() error { return unix.Symlink(header.Linkname, name) })
		if err == nil {
			err = a.describe(name, header)
		}
	case tar.TypeLink:
		err = a.link(name, path.Clean("/"+header.Linkname))
	case tar.TypeFifo:
		err = a.place(name, func() error { return unix.Mkfifo(name, uint32(header.Mode&0o777)) })
		if err == nil {
			err = a.describe(name, header)
		}
	case tar.TypeChar, tar.TypeBlock:
		a.done.LeftOut++ // a sandbox has devices of its own
		return nil
	case tar.TypeXGlobalHeader:
		return nil
	default:
		return fail(Broken, "%s is of an unknown type %q", shortened(name), header.Typeflag)
	}
	if err == nil && a.made != nil {
		a.made[maphash.String(a.seed, name)] = struct{}{}
	}
	return err
}

// place makes something new, with the directories above it, instead of what lay there.
func (a *applier) place(name string, make func() error) error {
	err := make()
	if errors.Is(err, unix.ENOENT) {
		if err := parents(path.Dir(name), deepestLinks); err != nil {
			return err
		}
		err = make()
	}
	if errors.Is(err, unix.EEXIST) && name != "/" {
		if err := os.RemoveAll(name); err != nil {
			return err
		}
		err = make()
	}
	return err
}

// parents makes a directory and those above it. One that is a link to nothing yet is made where the link leads.
func parents(folder string, deep int) error {
	if deep == 0 {
		return unix.ELOOP
	}
	err := unix.Mkdir(folder, 0o755)
	if errors.Is(err, unix.ENOENT) && folder != "/" {
		if err := parents(path.Dir(folder), deep); err != nil {
			return err
		}
		err = unix.Mkdir(folder, 0o755)
	}
	if !errors.Is(err, unix.EEXIST) {
		return err
	}
	if target, isLink := os.Readlink(folder); isLink == nil {
		if _, missing := os.Stat(folder); errors.Is(missing, fs.ErrNotExist) {
			if !path.IsAbs(target) {
				target = path.Join(path.Dir(folder), target)
			}
			return parents(path.Clean(target), deep-1)
		}
	}
	return nil
}

func (a *applier) file(content io.Reader, name string, header *tar.Header) error {
	var descriptor int
	err := a.place(name, func() (err error) {
		flags := unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
		descriptor, err = unix.Open(name, flags, uint32(header.Mode&0o777))
		return err
	})
	if err != nil {
		return err
	}
	defer unix.Close(descriptor)
	if err := a.write(descriptor, content, header.Size); err != nil {
		return err
	}
	if header.Uid != 0 || header.Gid != 0 {
		if err := unix.Fchown(descriptor, header.Uid, header.Gid); err != nil {
			return err
		}
	}
	if header.Mode&0o7000 != 0 { // after the owner, whose change takes these away
		if err := unix.Fchmod(descriptor, uint32(header.Mode&0o7777)); err != nil {
			return err
		}
	}
	for key, value := range header.PAXRecords {
		if attribute, isOne := strings.CutPrefix(key, xattrs); isOne && a.isWanted(attribute) {
			if err := unix.Fsetxattr(descriptor, attribute, []byte(value), 0); err != nil && !a.leaveOut(err) {
				return err
			}
		}
	}
	at := timespec(header.ModTime)
	return unix.UtimesNanoAt(unix.AT_FDCWD, name, []unix.Timespec{at, at}, unix.AT_SYMLINK_NOFOLLOW)
}

var zeros = make([]byte, holeBytes)

// write leaves holes where there is nothing but zeros, however the archive tells of them.
func (a *applier) write(descriptor int, content io.Reader, size int64) error {
	var at int64
	endsInHole := false
	for at < size {
		chunk := a.buffer[:min(size-at, int64(len(a.buffer)))]
		if _, err := io.ReadFull(content, chunk); err != nil {
			return fail(Broken, "a layer ends in the middle of %s: %v", shortened(a.current), err)
		}
		for len(chunk) > 0 {
			piece := chunk
			if size >= holeBytes {
				piece = chunk[:min(len(chunk), holeBytes)]
			}
			endsInHole = len(piece) == holeBytes && bytes.Equal(piece, zeros)
			if !endsInHole {
				if err := writeAt(descriptor, piece, at); err != nil {
					return err
				}
			}
			at += int64(len(piece))
			chunk = chunk[len(piece):]
		}
	}
	if endsInHole {
		return unix.Ftruncate(descriptor, size)
	}
	return nil
}

func writeAt(descriptor int, piece []byte, at int64) error {
	for len(piece) > 0 {
		written, err := unix.Pwrite(descriptor, piece, at)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		piece, at = piece[written:], at+int64(written)
	}
	return nil
}

func (a *applier) directory(name string, header *tar.Header) error {
	err := a.place(name, func() error {
		err := unix.Mkdir(name, uint32(header.Mode&0o777))
		if errors.Is(err, unix.EEXIST) {
			if found, missing := os.Lstat(name); missing == nil && found.IsDir() {
				return nil // the one below goes on, with what it holds
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	a.pending = append(a.pending, stamped{name, header.ModTime})
	if a.pendings += len(name) + 64; a.pendings > pendingMost {
		a.stamp()
	}
	return a.describe(name, header)
}

// describe gives owner, mode, attributes and time to what is no file. Times of directories follow when nothing is made in
// them any more.
func (a *applier) describe(name string, header *tar.Header) error {
	if err := unix.Lchown(name, header.Uid, header.Gid); err != nil {
		return err
	}
	if header.Typeflag != tar.TypeSymlink {
		if err := unix.Chmod(name, uint32(header.Mode&0o7777)); err != nil {
			return err
		}
	}
	for key, value := range header.PAXRecords {
		attribute, isOne := strings.CutPrefix(key, xattrs)
		if isOne && header.Typeflag == tar.TypeDir && a.isWanted(attribute) {
			if err := unix.Lsetxattr(name, attribute, []byte(value), 0); err != nil && !a.leaveOut(err) {
				return err
			}
		}
	}
	if header.Typeflag == tar.TypeDir {
		return nil
	}
	at := timespec(header.ModTime)
	return unix.UtimesNanoAt(unix.AT_FDCWD, name, []unix.Timespec{at, at}, unix.AT_SYMLINK_NOFOLLOW)
}

func (a *applier) stamp() {
	for _, each := range a.pending {
		at := timespec(each.at)
		// It may have been removed again, or be something else by now: then nothing is lost.
		_ = unix.UtimesNanoAt(unix.AT_FDCWD, each.path, []unix.Timespec{at, at}, unix.AT_SYMLINK_NOFOLLOW)
	}
	a.pending, a.pendings = a.pending[:0], 0
}

func (a *applier) link(name, target string) error {
	if name == target {
		return nil
	}
	if _, err := os.Lstat(target); err != nil {
		return fail(Broken, "%s is a link to %s, which it does not have", shortened(name), shortened(target))
	}
	return a.place(name, func() error { return unix.Link(target, name) })
}

func (a *applier) whiteout(folder, base string) error {
	if base == opaque {
		return a.clear(folder)
	}
	if strings.HasPrefix(base, whiteout+whiteout) {
		return nil // notes of an old storage driver
	}
	name := strings.TrimPrefix(base, whiteout)
	if name == "" || name == "." || name == ".." {
		return fail(Broken, "it removes what is no file: %s", shortened(base))
	}
	return os.RemoveAll(path.Join(folder, name))
}

// clear removes what the layers below have in a directory, and nothing of this one's.
func (a *applier) clear(folder string) error {
	if a.made == nil {
		return nil
	}
	held, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, each := range held {
		name := path.Join(folder, each.Name())
		if _, isOurs := a.made[maphash.String(a.seed, name)]; !isOurs {
			if err := os.RemoveAll(name); err != nil {
				return err
			}
		} else if each.IsDir() {
			if err := a.clear(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// isWanted: what programs and files of a machine have. The others are marks of the machine that made the image.
func (a *applier) isWanted(attribute string) bool {
	if strings.HasPrefix(attribute, "user.") || attribute == "security.capability" || strings.HasPrefix(attribute, "system.posix_acl_") {
		return true
	}
	a.done.LeftOut++
	return false
}

func (a *applier) leaveOut(err error) bool {
	a.done.LeftOut++
	return errors.Is(err, unix.ENOTSUP)
}

// explain: nearly every refusal of the kernel's is the archive's doing.
func (a *applier) explain(err error) *failure {
	var known *failure
	var number syscall.Errno
	switch {
	case errors.As(err, &known):
		return known
	case !errors.As(err, &number):
		return &failure{Fault, err.Error()}
	}
	switch number {
	case unix.ENOSPC, unix.EDQUOT:
		return &failure{Full, "the disk is full"}
	case unix.EFBIG:
		return &failure{TooLarge, "unpacked it has more bytes than are allowed"}
	case unix.EIO, unix.EROFS, unix.ENOMEM, unix.EMFILE:
		return &failure{Fault, err.Error()}
	}
	return &failure{Broken, "its file " + shortened(a.current) + " cannot be written: " + number.Error()}
}

func timespec(at time.Time) unix.Timespec {
	if at.Year() < 1970 || at.Year() > 2200 {
		at = time.Unix(0, 0)
	}
	return unix.NsecToTimespec(at.UnixNano())
}
