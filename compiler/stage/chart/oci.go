package chart

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

const (
	chartLayer       = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
	legacyChartLayer = "application/tar+gzip" // media type of Helm before 3.7
)

// tagOf returns the tag of a version. Tags cannot contain a plus sign.
func tagOf(version string) string { return strings.ReplaceAll(version, "+", "_") }

func versionOf(tag string) string { return strings.ReplaceAll(tag, "_", "+") }

// splitTag splits host/path:tag. Without a tag, it returns otherwise.
func splitTag(at, otherwise string) (repository, tag string) {
	if i := strings.LastIndexByte(at, ':'); i > strings.LastIndexByte(at, '/') {
		return at[:i], at[i+1:]
	}
	return at, otherwise
}

// fetchOCI downloads the chart with a tag from the repository oci://host/path.
func (s *Source) fetchOCI(ctx context.Context, at, tag string) ([]byte, error) {
	repo, options, err := s.registry(ctx, at)
	if err != nil {
		return nil, err
	}
	found, err := remote.Get(repo.Tag(tag), options...)
	if err != nil {
		return nil, RegistryFault(at+":"+tag, "read", err)
	}
	manifest, err := v1.ParseManifest(bytes.NewReader(found.Manifest))
	if err != nil {
		return nil, &diag.Diag{Code: diag.CodeChartFiles, Msg: fmt.Sprintf("%s:%s has a manifest that cannot be read: %s", at, tag, oneLine(err.Error())), Hint: otherVersion, Cause: err}
	}
	for _, layer := range manifest.Layers {
		if layer.MediaType == chartLayer || layer.MediaType == legacyChartLayer {
			return pull(repo, layer, at+":"+tag, options)
		}
	}
	return nil, fault(diag.CodeChartNotFound, "check the name: images and charts have the same kind of address", "%s:%s is not a chart", at, tag)
}

// pull downloads a layer. The registry library verifies its digest from the
// manifest.
func pull(repo name.Repository, layer v1.Descriptor, at string, options []remote.Option) ([]byte, error) {
	if layer.Size > maxDownload {
		return nil, fault(diag.CodeChartFiles, otherVersion, "%s is larger than %d MiB", at, maxDownload>>20)
	}
	blob, err := remote.Layer(repo.Digest(layer.Digest.String()), options...)
	if err != nil {
		return nil, RegistryFault(at, "read", err)
	}
	body, err := blob.Compressed()
	if err != nil {
		return nil, RegistryFault(at, "read", err)
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	if err != nil {
		return nil, RegistryFault(at, "read", err)
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
		return nil, RegistryFault(at, "read", err)
	}
	return tags, nil
}

// registry returns the repository oci://host/path and the options to access it.
func (s *Source) registry(ctx context.Context, at string) (name.Repository, []remote.Option, error) {
	repo, options, err := OpenRegistry(ctx, at, s.forRegistries(), maxDownload+maxIndex)
	if err != nil {
		return repo, nil, &diag.Diag{
			Code:  diag.CodeChartReference,
			Msg:   fmt.Sprintf("%s is not the address of a chart in a registry: %s", at, oneLine(err.Error())),
			Hint:  "write an address such as oci://registry.example.com/charts",
			Cause: err,
		}
	}
	return repo, options, nil
}
