package oci

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/registry"
)

const (
	maxAnswer = 256 << 20        // bytes that a registry may answer for one artifact
	maxFiles  = 1 << 30          // bytes of an artifact's files, unpacked
	timeout   = 10 * time.Minute // for one artifact
)

// A Client talks to a registry about the artifacts of a fleet. It may be used by
// several goroutines.
type Client struct {
	target Target
	over   http.RoundTripper
}

// NewClient returns a client for the target. It uses no network yet.
func NewClient(t Target) *Client { return &Client{t, registry.Transport()} }

// Check returns a fault when the registry can have no artifact of a cluster.
func (c *Client) Check(cluster string) error {
	_, err := c.target.repository(cluster)
	return err
}

// A Pushed is an artifact that the registry has, or would have.
type Pushed struct {
	Cluster string // ID
	Address string // oci://host/path
	Tag     string
	Digest  string // sha256:hex of the manifest, by which the artifact can be asked for
	Changed bool   // whether it had to be pushed
}

// Push makes the tag of a cluster name the artifact, and says what the registry
// has then. It pushes nothing when the tag names it already, and nothing at all
// with check. The error is a fault.
func (c *Client) Push(ctx context.Context, a *Artifact, check bool) (Pushed, error) {
	p := Pushed{Cluster: a.Cluster, Tag: c.target.tag}
	err := c.at(ctx, a.Cluster, "write", func(at string, tag name.Tag, options []remote.Option) error {
		p.Address = at
		digest, err := a.image.Digest()
		if err != nil {
			return err
		}
		p.Digest = digest.String()
		now, err := a.current(tag, options)
		if now != "" || err != nil {
			p.Digest = now
			return err
		}
		p.Changed = true
		if check {
			return nil
		}
		return remote.Write(tag, a.image, options...)
	})
	return p, err
}

// Names reports whether the tag of a cluster names the artifact with a digest. The
// error is a fault.
func (c *Client) Names(ctx context.Context, cluster, digest string) (is bool, err error) {
	err = c.at(ctx, cluster, "read", func(_ string, tag name.Tag, options []remote.Option) error {
		now, err := named(tag, options)
		is = err == nil && now.String() == digest
		return err
	})
	return is, err
}

// Unchanged is what Push returns of an artifact that the tag of a cluster names. The
// error is a fault.
func (c *Client) Unchanged(cluster, digest string) (Pushed, error) {
	at, err := c.target.repository(cluster)
	return Pushed{Cluster: cluster, Address: at, Tag: c.target.tag, Digest: digest}, err
}

// at calls work with the repository and tag of a cluster, and makes its error a
// fault.
func (c *Client) at(ctx context.Context, cluster, verb string, work func(at string, tag name.Tag, options []remote.Option) error) error {
	at, err := c.target.repository(cluster)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	repo, options, err := registry.Open(limited, at, c.over, maxAnswer)
	if err == nil {
		err = work(at, repo.Tag(c.target.tag), options)
	}
	_, told := errors.AsType[*diag.Diag](err)
	switch {
	case err == nil, told:
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case limited.Err() != nil:
		return &diag.Diag{Msg: fmt.Sprintf("%s:%s: the registry takes longer than %s", at, c.target.tag, timeout), Hint: "run the command again", Cause: err}
	}
	return registry.Fault(at+":"+c.target.tag, verb, err)
}

// current returns the digest of what the tag names when that need not be
// changed, empty when it need.
func (a *Artifact) current(tag name.Tag, options []remote.Option) (string, error) {
	there, err := named(tag, options)
	if err != nil || there == (v1.Hash{}) {
		return "", err
	}
	mine, err := a.image.Digest()
	if err != nil {
		return "", err
	}
	if there == mine {
		return mine.String(), nil
	}
	old, err := remote.Get(tag, options...)
	if err != nil {
		return "", err
	}
	same, err := a.same(old.Manifest)
	if !same || err != nil {
		return "", err
	}
	return old.Digest.String(), nil
}

// named returns the digest of what a tag names, the zero one when it names nothing.
func named(tag name.Tag, options []remote.Option) (v1.Hash, error) {
	there, err := remote.Head(tag, options...)
	if answer, ok := errors.AsType[*transport.Error](err); ok && absent(answer.StatusCode) {
		return v1.Hash{}, nil
	}
	if err != nil {
		return v1.Hash{}, err
	}
	return there.Digest, nil
}

// absent reports whether a registry's answer may mean that it has no such tag.
// Some say so of what they let nobody read before it is there; whether one may
// write, the push tells.
func absent(status int) bool {
	return status == http.StatusNotFound || status == http.StatusUnauthorized || status == http.StatusForbidden
}

// same reports whether a manifest differs from the artifact's in source and
// revision at most. Nonsense is not the same.
func (a *Artifact) same(manifest []byte) (bool, error) {
	mine, err := a.image.Manifest()
	if err != nil {
		return false, err
	}
	var old v1.Manifest
	if parsed, err := v1.ParseManifest(bytes.NewReader(manifest)); err == nil {
		old = *parsed
	}
	plain := func(m v1.Manifest) map[string]string {
		rest := maps.Clone(m.Annotations)
		maps.DeleteFunc(rest, func(key, _ string) bool { return key == sourceKey || key == revisionKey })
		return rest
	}
	equal := func(x, y v1.Descriptor) bool {
		return x.MediaType == y.MediaType && x.Digest == y.Digest && x.Size == y.Size
	}
	return equal(old.Config, mine.Config) && slices.EqualFunc(old.Layers, mine.Layers, equal) && maps.Equal(plain(old), plain(*mine)), nil
}

// Files returns the files of the artifact that the tag of a cluster names, by
// their slash-separated names, all below one directory; none when there is no
// such artifact. It has to be known that there is none: where the registry does
// not let it be read, that is an error. The error is a fault.
func (c *Client) Files(ctx context.Context, cluster string) (map[string][]byte, error) {
	var files map[string][]byte
	err := c.at(ctx, cluster, "read", func(at string, tag name.Tag, options []remote.Option) error {
		found, err := remote.Get(tag, options...)
		if answer, ok := errors.AsType[*transport.Error](err); ok && answer.StatusCode == http.StatusNotFound {
			return nil
		}
		if err != nil {
			return err
		}
		manifest, err := v1.ParseManifest(bytes.NewReader(found.Manifest))
		if err != nil || len(manifest.Layers) != 1 || manifest.Layers[0].MediaType != layerType {
			return &diag.Diag{Msg: fmt.Sprintf("%s:%s is no artifact of fleetc", at, tag.TagStr()), Hint: "export to another path or tag", Cause: err}
		}
		layer, err := remote.Layer(tag.Context().Digest(manifest.Layers[0].Digest.String()), options...)
		if err != nil {
			return err
		}
		blob, err := layer.Compressed()
		if err != nil {
			return err
		}
		files, err = unpack(blob)
		return errors.Join(err, blob.Close())
	})
	return files, err
}

// unpack reads what writeLayer has written, or somebody else in its place.
func unpack(blob io.Reader) (map[string][]byte, error) {
	unzipped, err := gzip.NewReader(blob)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	in := tar.NewReader(io.LimitReader(unzipped, maxFiles))
	for {
		hd, err := in.Next()
		if err == io.EOF {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		if hd.Typeflag != tar.TypeReg || !fs.ValidPath(hd.Name) {
			return nil, fmt.Errorf("the artifact has %q, which is no file of a bundle", hd.Name)
		}
		if files[hd.Name], err = io.ReadAll(in); err != nil {
			return nil, err
		}
	}
}
