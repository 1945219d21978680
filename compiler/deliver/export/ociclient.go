package export

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

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/stage/chart"
)

const (
	maxAnswer        = 256 << 20        // bytes that a registry may answer for one artifact
	maxArtifactFiles = 1 << 30          // bytes of an artifact's files, unpacked
	pushTimeout      = 10 * time.Minute // for one artifact
)

// A RegistryClient pushes and reads the artifacts of a fleet. It is safe for concurrent
// use.
type RegistryClient struct {
	target    RegistryTarget
	transport http.RoundTripper
}

// NewRegistryClient returns a client for the target. It does not use the network yet.
func NewRegistryClient(t RegistryTarget) *RegistryClient {
	return &RegistryClient{t, chart.WaitingTransport(chart.RegistryTransport())}
}

// Check returns a fault when the ID of a cluster is not valid in the name of a
// repository.
func (c *RegistryClient) Check(cluster string) error {
	_, err := c.target.repository(cluster)
	return err
}

// A PushResult describes the artifact that the tag of a cluster has after a push
// or a check.
type PushResult struct {
	Cluster   string    `json:"cluster"`   // ID
	Tag       string    `json:"tag"`       // oci://host/path:tag
	Digest    string    `json:"digest"`    // sha256:hex of the manifest
	Reference string    `json:"reference"` // oci://host/path@digest
	State     PushState `json:"state"`
}

// A PushState says whether an artifact was, or would be, pushed.
type PushState string

// The states of artifacts.
const (
	PushChanged   PushState = "changed"
	PushUnchanged PushState = "unchanged"
)

// Push pushes the artifact to the tag of its cluster, unless the tag has equal
// content already. With check, it pushes nothing. The error is a fault.
func (c *RegistryClient) Push(ctx context.Context, a *Artifact, check bool) (p PushResult, err error) {
	err = c.withTag(ctx, a.Cluster, "write", func(address string, tag name.Tag, options []remote.Option) error {
		digest, err := a.image.Digest()
		if err != nil {
			return err
		}
		current, err := a.current(tag, options)
		if current != "" || err != nil {
			p = c.pushResult(a.Cluster, address, current, PushUnchanged)
			return err
		}
		p = c.pushResult(a.Cluster, address, digest.String(), PushChanged)
		if check {
			return nil
		}
		return remote.Write(tag, a.image, options...)
	})
	return p, err
}

// TagHas reports whether the tag of a cluster has the digest. The error is a
// fault.
func (c *RegistryClient) TagHas(ctx context.Context, cluster, digest string) (ok bool, err error) {
	err = c.withTag(ctx, cluster, "read", func(_ string, tag name.Tag, options []remote.Option) error {
		current, err := tagDigest(tag, options)
		ok = err == nil && current.String() == digest
		return err
	})
	return ok, err
}

// Unchanged returns the result of a push for a tag that already has the digest.
// The error is a fault.
func (c *RegistryClient) Unchanged(cluster, digest string) (PushResult, error) {
	address, err := c.target.repository(cluster)
	return c.pushResult(cluster, address, digest, PushUnchanged), err
}

func (c *RegistryClient) pushResult(cluster, address, digest string, state PushState) PushResult {
	return PushResult{cluster, address + ":" + c.target.tag, digest, address + "@" + digest, state}
}

// withTag calls work with the repository and the tag of a cluster, and turns
// its error into a fault.
func (c *RegistryClient) withTag(ctx context.Context, cluster, verb string, work func(address string, tag name.Tag, options []remote.Option) error) error {
	address, err := c.target.repository(cluster)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, pushTimeout)
	defer cancel()
	repo, options, err := chart.OpenRegistry(limited, address, c.transport, maxAnswer)
	if err == nil {
		err = work(address, repo.Tag(c.target.tag), options)
	}
	_, isFault := errors.AsType[*diag.Diag](err)
	switch {
	case err == nil, isFault:
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case limited.Err() != nil:
		return &diag.Diag{Code: diag.CodeNetwork, Msg: fmt.Sprintf("%s:%s: the registry did not finish within %s", address, c.target.tag, pushTimeout), Hint: "run the command again", Cause: err}
	}
	return chart.RegistryFault(address+":"+c.target.tag, verb, err)
}

// current returns the digest that the tag has if it need not change, and an
// empty string otherwise. A tag with an artifact of another fleet is a fault.
func (a *Artifact) current(tag name.Tag, options []remote.Option) (string, error) {
	old, err := tagDigest(tag, options)
	if err != nil || old == (v1.Hash{}) {
		return "", err
	}
	mine, err := a.image.Digest()
	if err != nil {
		return "", err
	}
	if old == mine {
		return mine.String(), nil
	}
	descriptor, err := remote.Get(tag, options...)
	if err != nil {
		return "", err
	}
	var there v1.Manifest
	if parsed, err := v1.ParseManifest(bytes.NewReader(descriptor.Manifest)); err == nil {
		there = *parsed
	}
	if owner := there.Annotations[fleetKey]; owner != "" && owner != a.Fleet {
		return "", &diag.Diag{
			Code: diag.CodeOtherBundle,
			Msg:  fmt.Sprintf("%s%s belongs to the fleet %q, not to %q", chart.OCIScheme, tag, diag.Visible(owner, diag.MaxText), a.Fleet),
			Hint: "export to another path or tag",
		}
	}
	same, err := a.same(there)
	if !same || err != nil {
		return "", err
	}
	return descriptor.Digest.String(), nil
}

// tagDigest returns the digest of a tag, the zero digest if the tag does not
// exist.
func tagDigest(tag name.Tag, options []remote.Option) (v1.Hash, error) {
	there, err := remote.Head(tag, options...)
	if answer, ok := errors.AsType[*transport.Error](err); ok && absent(answer.StatusCode) {
		return v1.Hash{}, nil
	}
	if err != nil {
		return v1.Hash{}, err
	}
	return there.Digest, nil
}

// absent reports whether the status of an answer can mean that the tag does not
// exist. Some registries answer 401 or 403 for a missing repository; the push
// then finds out whether writing is allowed.
func absent(status int) bool {
	return status == http.StatusNotFound || status == http.StatusUnauthorized || status == http.StatusForbidden
}

// same reports whether a manifest equals that of the artifact except for source
// and revision.
func (a *Artifact) same(old v1.Manifest) (bool, error) {
	mine, err := a.image.Manifest()
	if err != nil {
		return false, err
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

// Files returns the files of the artifact that the tag of a cluster has, by
// their slash-separated names. It returns no files when the tag does not exist,
// but an error when the registry rejects the credentials. The error is a fault.
func (c *RegistryClient) Files(ctx context.Context, cluster string) (map[string][]byte, error) {
	var files map[string][]byte
	err := c.withTag(ctx, cluster, "read", func(address string, tag name.Tag, options []remote.Option) error {
		found, err := remote.Get(tag, options...)
		if answer, ok := errors.AsType[*transport.Error](err); ok && answer.StatusCode == http.StatusNotFound {
			return nil
		}
		if err != nil {
			return err
		}
		manifest, err := v1.ParseManifest(bytes.NewReader(found.Manifest))
		if err != nil || len(manifest.Layers) != 1 || manifest.Layers[0].MediaType != layerType {
			return &diag.Diag{Code: diag.CodeForeignFile, Msg: fmt.Sprintf("%s:%s is not an artifact of fleetc", address, tag.TagStr()), Hint: "export to another path or tag", Cause: err}
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

// OtherTag returns the address of another tag of a cluster's artifacts; empty if there is none, or
// if the registry does not list tags. The error is a fault.
func (c *RegistryClient) OtherTag(ctx context.Context, cluster string) (other string, err error) {
	err = c.withTag(ctx, cluster, "read", func(address string, tag name.Tag, options []remote.Option) error {
		tags, err := remote.List(tag.Context(), options...)
		if answer, ok := errors.AsType[*transport.Error](err); ok && (absent(answer.StatusCode) || answer.StatusCode == http.StatusMethodNotAllowed) {
			return nil
		}
		if len(tags) > 0 {
			other = address + ":" + tags[len(tags)-1]
		}
		return err
	})
	return other, err
}

// unpack reads the files of a layer, which may come from another tool.
func unpack(blob io.Reader) (map[string][]byte, error) {
	unzipped, err := gzip.NewReader(blob)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	in := tar.NewReader(io.LimitReader(unzipped, maxArtifactFiles))
	for {
		hd, err := in.Next()
		if err == io.EOF {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		if hd.Typeflag != tar.TypeReg || !fs.ValidPath(hd.Name) {
			return nil, fmt.Errorf("the artifact has %q, which is not a file of a bundle", hd.Name)
		}
		if files[hd.Name], err = io.ReadAll(in); err != nil {
			return nil, err
		}
	}
}
