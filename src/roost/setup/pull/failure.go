package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"unicode"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// The kinds of failures: the node has an error class for each.
const (
	NotFound    = "not_found"
	Platform    = "platform"
	Denied      = "denied"  // by the registry
	Refused     = "refused" // by this node's settings
	Unreachable = "unreachable"
	TooSlow     = "too_slow"
	Broken      = "broken"
	TooLarge    = "too_large"
	Full        = "full"
	Fault       = "fault"
)

const longestDetail = 500

type failure struct {
	Kind   string `json:"kind"`
	Detail string `json:"detail"`
}

func (f *failure) Error() string { return f.Kind + ": " + f.Detail }

func fail(kind, format string, facts ...any) error {
	return &failure{kind, fmt.Sprintf(format, facts...)}
}

// classify says what kind of failure an error is.
func classify(ctx context.Context, err error) *failure {
	// First: whoever is at an inner address is asked by http too, and refused, and that is not why.
	var unproven *tls.CertificateVerificationError
	if errors.As(err, &unproven) {
		return &failure{Unreachable, shortened("its certificate is not trusted here: " + unproven.Err.Error())}
	}
	var known *failure
	if errors.As(err, &known) {
		return &failure{known.Kind, shortened(known.Detail)}
	}
	if ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return &failure{TooSlow, "the registry took too long"}
	}
	var answered *transport.Error
	if errors.As(err, &answered) {
		return &failure{kindOf(answered), shortened(said(answered))}
	}
	if isNetwork(err) {
		return &failure{Unreachable, shortened(bare(err))}
	}
	return &failure{Broken, shortened(err.Error())}
}

func kindOf(answered *transport.Error) string {
	for _, each := range answered.Errors {
		switch each.Code {
		case transport.ManifestUnknownErrorCode, transport.NameUnknownErrorCode, transport.BlobUnknownErrorCode:
			return NotFound
		case transport.UnauthorizedErrorCode, transport.DeniedErrorCode:
			return Denied
		}
	}
	switch answered.StatusCode {
	case http.StatusNotFound:
		return NotFound
	case http.StatusUnauthorized, http.StatusForbidden:
		return Denied
	}
	return Unreachable
}

// said is what the registry answered, without what was asked: addresses may carry tokens.
func said(answered *transport.Error) string {
	status := fmt.Sprintf("it answers %d", answered.StatusCode)
	for _, each := range answered.Errors {
		if each.Message != "" {
			return fmt.Sprintf("%s (%s)", status, each.Message)
		}
	}
	return status
}

func isNetwork(err error) bool {
	var asked *url.Error
	var network net.Error
	var operation *net.OpError
	return errors.As(err, &asked) || errors.As(err, &network) || errors.As(err, &operation) ||
		errors.Is(err, io.ErrUnexpectedEOF)
}

// bare is the error without the address that was asked.
func bare(err error) string {
	var asked *url.Error
	if errors.As(err, &asked) {
		return asked.Err.Error()
	}
	return err.Error()
}

// shortened is for people: what strangers wrote is not to steer a terminal.
func shortened(text string) string {
	text = strings.Map(func(each rune) rune {
		if unicode.IsPrint(each) {
			return each
		}
		return unicode.ReplacementChar
	}, strings.Join(strings.Fields(text), " "))
	if len(text) > longestDetail {
		return strings.ToValidUTF8(text[:longestDetail], "") + "…"
	}
	return text
}

func readJSON(from io.Reader, most int64, into any) error {
	content, err := io.ReadAll(io.LimitReader(from, most+1))
	if err != nil {
		return err
	}
	if int64(len(content)) > most {
		return fmt.Errorf("it has more than %d bytes", most)
	}
	return json.Unmarshal(content, into)
}
