package chart

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/fleetc/fleetc/compiler/diag"
)

const (
	chartLayer       = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
	legacyChartLayer = "application/tar+gzip" // of Helm before 3.7
)

// errNoTag says that the registry does not have the tag or the repository.
var errNoTag = errors.New("not in the registry")

// tagOf is the tag of a version: a registry takes no plus sign.
func tagOf(version string) string { return strings.ReplaceAll(version, "+", "_") }

func versionOf(tag string) string { return strings.ReplaceAll(tag, "_", "+") }

// splitTag splits host/path:tag; the tag is otherwise when there is none.
func splitTag(at, otherwise string) (repository, tag string) {
	if i := strings.LastIndexByte(at, ':'); i > strings.LastIndexByte(at, '/') {
		return at[:i], at[i+1:]
	}
	return at, otherwise
}

// fetchOCI downloads the chart that a registry has under a tag of the
// repository oci://host/path.
func (s *Source) fetchOCI(ctx context.Context, at, tag string) ([]byte, error) {
	repo, options, err := s.registry(ctx, at)
	if err != nil {
		return nil, err
	}
	found, err := remote.Get(repo.Tag(tag), options...)
	if err != nil {
		return nil, registryFault(at+":"+tag, err)
	}
	manifest, err := v1.ParseManifest(bytes.NewReader(found.Manifest))
	if err != nil {
		return nil, &diag.Diag{Msg: fmt.Sprintf("%s:%s has a manifest that cannot be read: %s", at, tag, oneLine(err.Error())), Cause: err}
	}
	for _, layer := range manifest.Layers {
		if layer.MediaType == chartLayer || layer.MediaType == legacyChartLayer {
			return pull(repo, layer, at+":"+tag, options)
		}
	}
	return nil, fault("check the name: images and charts have the same kind of address", "%s:%s is not a chart", at, tag)
}

// pull downloads a layer, whose bytes the registry library checks against the
// digest in the manifest.
func pull(repo name.Repository, layer v1.Descriptor, at string, options []remote.Option) ([]byte, error) {
	if layer.Size > maxDownload {
		return nil, fault("", "%s is larger than %d MiB", at, maxDownload>>20)
	}
	blob, err := remote.Layer(repo.Digest(layer.Digest.String()), options...)
	if err != nil {
		return nil, registryFault(at, err)
	}
	body, err := blob.Compressed()
	if err != nil {
		return nil, registryFault(at, err)
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	if err != nil {
		return nil, registryFault(at, err)
	}
	return data, nil
}

// tags returns the tags of the repository oci://host/path.
func (s *Source) tags(ctx context.Context, at string) ([]string, error) {
	repo, options, err := s.registry(ctx, at)
	if err != nil {
		return nil, err
	}
	tags, err := remote.List(repo, options...)
	if err != nil {
		return nil, registryFault(at, err)
	}
	return tags, nil
}

// registry returns the repository oci://host/path and how to talk to it.
func (s *Source) registry(ctx context.Context, at string) (name.Repository, []remote.Option, error) {
	repo, err := name.NewRepository(strings.TrimPrefix(at, "oci://"), name.StrictValidation)
	if err != nil {
		return repo, nil, &diag.Diag{Msg: fmt.Sprintf("%s is not the address of a chart in a registry: %s", at, oneLine(err.Error())), Cause: err}
	}
	return repo, []remote.Option{
		remote.WithContext(ctx),
		remote.WithAuthFromKeychain(authn.DefaultKeychain),
		remote.WithTransport(newLimited(s.plain())),
		remote.WithUserAgent("fleetc"),
		remote.WithRetryBackoff(remote.Backoff{Duration: 200 * time.Millisecond, Factor: 3, Jitter: 0.1, Steps: 3}),
	}, nil
}

// registryFault says in the user's words what a registry said.
func registryFault(at string, err error) error {
	d := &diag.Diag{Msg: at + ": " + oneLine(urlReason(err)), Hint: "check the address and the network", Cause: err}
	host, _, _ := strings.Cut(strings.TrimPrefix(at, "oci://"), "/")
	answer, ok := errors.AsType[*transport.Error](err)
	if !ok {
		return d
	}
	switch answer.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		d.Msg = at + ": the registry does not let these credentials read it, or it does not exist"
		d.Hint = "check the address, then run docker login " + host
	case http.StatusNotFound:
		d.Msg, d.Hint = at+" is not in the registry", "check the name and the version"
		d.Cause = errors.Join(errNoTag, err)
	default:
		d.Hint = "run the command again"
	}
	return d
}

// limited is a transport that bounds what one operation on a registry may
// send and ask for, however many pages or redirects it answers with.
type limited struct {
	base     http.RoundTripper
	requests atomic.Int64 // left
	bytes    atomic.Int64 // left
}

func newLimited(base http.RoundTripper) *limited {
	l := &limited{base: base}
	l.requests.Store(200)
	l.bytes.Store(maxDownload + maxIndex)
	return l
}

// RoundTrip implements [http.RoundTripper].
func (l *limited) RoundTrip(req *http.Request) (*http.Response, error) {
	if l.requests.Add(-1) < 0 {
		return nil, errors.New("the registry needs more than 200 requests for one chart")
	}
	resp, err := l.base.RoundTrip(req)
	if err == nil {
		resp.Body = &limitedBody{resp.Body, l}
	}
	return resp, err
}

type limitedBody struct {
	io.ReadCloser
	limit *limited
}

func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.limit.bytes.Add(int64(-n)) < 0 {
		return n, fmt.Errorf("the registry sends more than %d MiB", (maxDownload+maxIndex)>>20)
	}
	return n, err
}
