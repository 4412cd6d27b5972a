package main

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	connectTimeout  = 10 * time.Second
	mostAnswerBytes = 8 << 20 // of what is no blob
)

// guarded goes where the settings allow, and nowhere else. Whoever names an image chooses which hosts this machine talks to,
// and a registry chooses further ones (where tokens are had, where blobs lie): none of them may be an inner one unless whoever
// runs this Roost said so.
type guarded struct {
	asked    request
	strict   *http.Transport
	trusting *http.Transport // for registries that may lack a certificate
	proxies  sync.Map        // addresses
}

func newTransport(asked request) (http.RoundTripper, error) {
	g := &guarded{asked: asked}
	stall := time.Duration(asked.StallS * float64(time.Second))
	g.strict = &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           g.dial,
		TLSHandshakeTimeout:   connectTimeout,
		ResponseHeaderTimeout: stall,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   4,
	}
	g.trusting = g.strict.Clone()
	g.trusting.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	return g, nil
}

func (g *guarded) RoundTrip(asked *http.Request) (*http.Response, error) {
	host := asked.URL.Host
	insecure := matches(g.asked.Insecure, host)
	if asked.URL.Scheme != "https" && !insecure {
		return nil, fail(Refused, "%s does not speak https", host)
	}
	if proxy, err := http.ProxyFromEnvironment(asked); err == nil && proxy != nil {
		// The proxy finds the host; what can be said of it here is said here.
		if address, err := netip.ParseAddr(asked.URL.Hostname()); err == nil && isInner(address) && !g.isKnown(host) {
			return nil, fail(Refused, "%s is an address of an inner network", host)
		}
		g.proxies.Store(withPort(proxy.Host, proxy.Scheme), true)
	}
	chosen := g.strict
	if insecure {
		chosen = g.trusting
	}
	answered, err := chosen.RoundTrip(asked)
	if err == nil && !strings.Contains(asked.URL.Path, "/blobs/") {
		answered.Body = &bounded{answered.Body, mostAnswerBytes}
	}
	return answered, err
}

func (g *guarded) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: connectTimeout}
	if _, isProxy := g.proxies.Load(address); !isProxy && !g.isKnown(address) {
		// Asked of the address that is really connected to: a name may mean another one every time.
		dialer.Control = func(_, reached string, _ syscall.RawConn) error {
			parsed, err := netip.ParseAddrPort(reached)
			if err != nil || isInner(parsed.Addr()) {
				return fail(Refused, "%s is at %s, an address of an inner network", address, reached)
			}
			return nil
		}
	}
	connection, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &impatient{connection, time.Duration(g.asked.StallS * float64(time.Second))}, nil
}

// isKnown: somebody who runs this Roost named the host.
func (g *guarded) isKnown(address string) bool {
	if matches(g.asked.Insecure, address) || matches(g.asked.Private, address) {
		return true
	}
	for _, mirrors := range g.asked.Mirrors {
		if matches(mirrors, address) {
			return true
		}
	}
	return false
}

// matches: hosts are named as in references, where the usual ports are left out.
func matches(named []string, address string) bool {
	return slices.ContainsFunc(named, func(each string) bool {
		return each == address || each+":443" == address || each+":80" == address
	})
}

func withPort(host, scheme string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	if scheme == "https" {
		return net.JoinHostPort(strings.Trim(host, "[]"), "443")
	}
	return net.JoinHostPort(strings.Trim(host, "[]"), "80")
}

var inner = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("64:ff9b::/96"),
	netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("fec0::/10"),
}

func isInner(address netip.Addr) bool {
	address = address.Unmap().WithZone("")
	return !address.IsGlobalUnicast() || address.IsPrivate() ||
		slices.ContainsFunc(inner, func(each netip.Prefix) bool { return each.Contains(address) })
}

// impatient gives up on a peer that says nothing for too long.
type impatient struct {
	net.Conn
	stall time.Duration
}

func (c *impatient) Read(into []byte) (int, error) {
	if err := c.Conn.SetReadDeadline(time.Now().Add(c.stall)); err != nil {
		return 0, err
	}
	return c.Conn.Read(into)
}

// bounded is an answer that may not be endless.
type bounded struct {
	io.ReadCloser
	left int64
}

func (b *bounded) Read(into []byte) (int, error) {
	if b.left <= 0 {
		return 0, fail(Broken, "the registry's answer has more than %d bytes", mostAnswerBytes)
	}
	read, err := b.ReadCloser.Read(into[:min(int64(len(into)), b.left)])
	b.left -= int64(read)
	return read, err
}

func contains(names []string, name string) bool { return slices.Contains(names, name) }
