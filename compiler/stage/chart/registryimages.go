package chart

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/par"
)

// Limits of the requests for images.
const (
	maxTagBytes  = 32 << 20        // answers of one repository
	imageTimeout = 2 * time.Minute // one list or one manifest, without the wait for others
	perHost      = 4               // repositories of a host at a time
)

// RegistryImages reads the tags and digests of container images. It lists each repository once,
// and asks for the digest of each tag once. It is safe for concurrent use.
type RegistryImages struct {
	offline      bool
	transport    http.RoundTripper
	repositories par.ResultMemo[string, *imageRepository]
	tags         par.ResultMemo[string, []string]
	digests      par.ResultMemo[string, string]
	hosts        par.Memo[string, chan struct{}]
}

// An imageRepository is a repository with its client, which logs in once.
type imageRepository struct {
	name.Repository
	puller *remote.Puller
}

// NewRegistryImages returns a client. With offline, each request is a fault.
func NewRegistryImages(offline bool) *RegistryImages {
	return &RegistryImages{offline: offline, transport: WaitingTransport(RegistryTransport())}
}

// Tags returns the tags of a repository, as in ghcr.io/example/app, in the order of the
// registry. They may be any texts.
func (c *RegistryImages) Tags(ctx context.Context, repository string) ([]string, error) {
	return c.tags.Get(repository, func() ([]string, error) {
		return requestImage(ctx, c, repository, repository, func(ctx context.Context, r *imageRepository) ([]string, error) {
			return r.puller.List(ctx, r.Repository)
		})
	})
}

// Digest returns the digest of a tag: that of the index for an image of several
// architectures. The error wraps [ErrNotInRegistry] if the registry does not have the tag.
func (c *RegistryImages) Digest(ctx context.Context, repository, tag string) (string, error) {
	at := repository + ":" + tag
	return c.digests.Get(at, func() (string, error) {
		return requestImage(ctx, c, repository, at, func(ctx context.Context, r *imageRepository) (string, error) {
			found, err := r.puller.Head(ctx, r.Tag(tag)) // registries count only GET as a pull
			if err == nil {
				return found.Digest.String(), nil
			}
			read, err := r.puller.Get(ctx, r.Tag(tag))
			if err != nil {
				return "", err
			}
			return read.Digest.String(), nil
		})
	})
}

// requestImage runs a request to a repository. at names its subject in faults.
func requestImage[T any](ctx context.Context, c *RegistryImages, repository, at string, send func(context.Context, *imageRepository) (T, error)) (T, error) {
	var none T
	at = diag.Visible(at, diag.MaxText)
	if c.offline {
		return none, &diag.Diag{Code: diag.CodeFlagCombination, Msg: at + ": a registry cannot be read offline", Hint: "run the command again without --offline"}
	}
	r, err := c.open(repository)
	if err != nil {
		return none, &diag.Diag{Code: diag.CodeTextForm, Msg: at + " is not a valid image name: " + diag.Brief(err), Hint: "correct the name of the image", Cause: err}
	}
	host, _, _ := strings.Cut(repository, "/")
	slots := c.hosts.Get(host, func() chan struct{} { return make(chan struct{}, perHost) })
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-ctx.Done():
		return none, ctx.Err()
	}
	limited, cancel := context.WithTimeout(ctx, imageTimeout)
	defer cancel()
	out, err := send(limited, r)
	switch {
	case ctx.Err() != nil:
		return none, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return none, &diag.Diag{Code: diag.CodeNetwork, Msg: at + ": the registry did not answer within " + imageTimeout.String(), Hint: "check the address and the network", Cause: err}
	case err != nil:
		return none, RegistryFault(at, "read", err)
	}
	return out, nil
}

// open returns the client of a repository.
func (c *RegistryImages) open(repository string) (*imageRepository, error) {
	return c.repositories.Get(repository, func() (*imageRepository, error) {
		repo, options, err := open(repository, newLimited(c.transport, maxTagBytes))
		if err != nil {
			return nil, err
		}
		puller, err := remote.NewPuller(options...)
		return &imageRepository{repo, puller}, err
	})
}
