// Package chart finds the bytes of every chart and checks their digests.
//
// A chart comes from an HTTP repository, a registry, a git repository or the
// fleet's own repository. What comes over the network is kept in a
// content-addressed store, so that a second run needs no network, and is
// checked against its pin every time, also when it comes out of the store.
// The package reads archives under limits; it does not render them, decode
// values, choose versions while a fleet compiles, or write anywhere but into
// its store.
package chart

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"sync"
	"time"

	helm "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
)

const (
	maxDownload = 100 << 20        // bytes of an archive as it is sent
	maxIndex    = 64 << 20         // bytes of a repository's index.yaml
	timeout     = 10 * time.Minute // for one chart, from the first byte to the last
)

// A Source finds charts. It reads each of them once and may be used by several
// goroutines; it must not be copied after its first use.
type Source struct {
	Root    string // absolute path of the fleet's root, which charts by path must not leave
	Cache   string // directory of the store; fleetc in the user's cache folder when empty
	Offline bool   // refuse the network

	charts  once[fleet.ChartRef, *fleet.Chart]
	indexes once[string, index]        // by URL of the repository
	helm    once[string, []repository] // by path of Helm's repositories.yaml
	swept   sync.Once

	transportOnce sync.Once
	transport     *http.Transport
}

// Chart returns the content of the chart that ref pins: from the store, or
// else from where it comes from. It returns a fault when the chart cannot be
// had, when its bytes do not have the pinned digest, or when they are not a
// chart. The result is shared and must not be modified.
func (s *Source) Chart(ctx context.Context, ref fleet.ChartRef) (*fleet.Chart, error) {
	return s.charts.do(ctx, ref, func() (*fleet.Chart, error) {
		if err := checkRef(ref); err != nil {
			return nil, err
		}
		schemas, err := s.schemas(ctx, ref)
		if err != nil {
			return nil, err
		}
		files, err := s.own(ctx, ref)
		if err != nil {
			return nil, err
		}
		if files, err = s.pinned(ctx, ref, files); err != nil {
			return nil, err
		}
		return &fleet.Chart{Ref: ref, Digest: contentDigest(ref, files), Files: files, Schemas: schemas}, nil
	})
}

// own returns the files of a chart without those of its dependencies.
func (s *Source) own(ctx context.Context, ref fleet.ChartRef) ([]fleet.File, error) {
	if ref.Path != "" {
		files, _, err := s.local(ref)
		return files, err
	}
	data, err := s.archive(ctx, ref)
	if err != nil {
		return nil, err
	}
	return remoteFiles(ref, data)
}

// contentDigest returns the digest of all that a chart consists of.
func contentDigest(ref fleet.ChartRef, files []fleet.File) string {
	switch {
	case ref.Path != "":
		return filesDigest(files)
	case ref.Dependencies != "":
		return digest([]byte(ref.Digest + "\n" + string(ref.Dependencies)))
	}
	return ref.Digest
}

// Has reports whether the bytes that ref pins are at hand: in the fleet's own
// repository or in the store, with the pinned digest. Those of a chart by path,
// which has no digest, always are.
func (s *Source) Has(ctx context.Context, ref fleet.ChartRef) bool {
	if checkRef(ref) != nil {
		return false
	}
	here := &Source{Root: s.Root, Cache: s.Cache, Offline: true}
	if _, err := here.schemas(ctx, ref); err != nil {
		return false
	}
	for _, dep := range dependencies(ref) {
		if _, err := here.archive(ctx, dep); err != nil {
			return false
		}
	}
	if ref.Path != "" {
		return true
	}
	_, err := here.archive(ctx, ref)
	return err == nil
}

// Verify fetches the chart and its pinned dependencies anew from where they come from, whatever the fleet's
// repository and the store have (when offline: out of them, and nowhere else),
// and returns a fault when its digest is not the pinned one or when it does not
// load. An archive in the fleet's repository is checked as well. Of a chart by
// path it checks only that it loads.
func (s *Source) Verify(ctx context.Context, ref fleet.ChartRef) error {
	if err := checkRef(ref); err != nil {
		return err
	}
	if err := s.verifySchemas(ctx, ref); err != nil {
		return err
	}
	for _, dep := range dependencies(ref) {
		if _, err := s.verified(ctx, dep); err != nil {
			return forParent(ref, dep, err)
		}
	}
	var files []fleet.File
	var err error
	if ref.Path != "" {
		files, _, err = s.local(ref)
	} else {
		files, err = s.verified(ctx, ref)
	}
	if err == nil {
		files, err = s.pinned(ctx, ref, files)
	}
	if err != nil {
		return err
	}
	return loads(ref, files)
}

// verified returns the files of a remote chart, which is fetched anew.
func (s *Source) verified(ctx context.Context, ref fleet.ChartRef) ([]fleet.File, error) {
	data, err := s.vendored(ref)
	switch {
	case err != nil:
	case !s.Offline:
		data, err = s.fetchPinned(ctx, ref)
	case data == nil:
		data, err = s.stored(ctx, ref)
	}
	if err != nil {
		return nil, err
	}
	return remoteFiles(ref, data)
}

// archive returns the bytes that a remote pin names: those in the fleet's own
// repository, or else those of the store or from where the chart comes from.
func (s *Source) archive(ctx context.Context, ref fleet.ChartRef) ([]byte, error) {
	data, err := s.vendored(ref)
	if data != nil || err != nil {
		return data, err
	}
	return s.stored(ctx, ref)
}

// stored returns the bytes that a remote pin names, out of the store or, if
// they are not there or are damaged, from where the chart comes from.
func (s *Source) stored(ctx context.Context, ref fleet.ChartRef) ([]byte, error) {
	st, err := s.store()
	if err != nil {
		return nil, err
	}
	data, state, err := st.read(ref.Digest)
	if err != nil || state == intact {
		return data, err
	}
	if s.Offline {
		missing := "is not in the chart store"
		if state == damaged {
			missing = "is damaged in the chart store"
		}
		return nil, fault("run fleetc vet once with the network", "%s %s, and the network is off", ref, missing)
	}
	if data, err = s.fetchPinned(ctx, ref); err != nil {
		return nil, err
	}
	s.swept.Do(st.sweep)
	return data, st.write(ref.Digest, data)
}

// fetchPinned downloads a remote chart and checks its digest.
func (s *Source) fetchPinned(ctx context.Context, ref fleet.ChartRef) ([]byte, error) {
	data, err := bounded(ctx, ref.String(), func(ctx context.Context) ([]byte, error) {
		switch {
		case ref.Git.URL != "":
			data, _, err := s.fetchGit(ctx, ref.Git)
			return data, err
		case isOCI(ref.Repo):
			return s.fetchOCI(ctx, ref.Repo+"/"+ref.Name, tagOf(ref.Version))
		}
		return s.fetchHTTP(ctx, ref)
	})
	if err != nil {
		return nil, err
	}
	if got := digest(data); got != ref.Digest {
		from := "the repository replaced the archive"
		if ref.Git.URL != "" {
			from = "the ref moved or the repository was rewritten"
		}
		return nil, fault(from+": check it, then run "+addCommand(ref),
			"%s has the digest %s, its pin says %s", ref, got, ref.Digest)
	}
	return data, nil
}

// bounded calls work with a deadline and says what was going on when the
// time, or the caller's patience, is over.
func bounded[T any](ctx context.Context, what string, work func(context.Context) (T, error)) (T, error) {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	v, err := work(limited)
	switch {
	case err == nil:
		return v, nil
	case ctx.Err() != nil:
		return v, fmt.Errorf("fetch %s: %w", what, ctx.Err())
	case limited.Err() != nil:
		return v, fault("run the command again", "%s: not complete after %s", what, timeout)
	}
	return v, err
}

// remoteFiles unpacks the archive of a remote chart. Helm honours .helmignore
// when it reads a directory or makes an archive of one; what git holds is a
// directory.
func remoteFiles(ref fleet.ChartRef, data []byte) ([]fleet.File, error) {
	files, err := unpack(data)
	if err == nil && ref.Git.URL != "" {
		files, err = withoutIgnored(files)
	}
	if err != nil {
		return nil, &diag.Diag{Msg: fmt.Sprintf("%s: %s", ref, err), Cause: err}
	}
	return files, nil
}

// loads returns a fault when Helm does not take the files for a chart.
func loads(ref fleet.ChartRef, files []fleet.File) error {
	_, err := load(ref, files)
	return err
}

// load returns the chart that Helm takes the files for.
func load(ref fleet.ChartRef, files []fleet.File) (*helm.Chart, error) {
	buffered := make([]*loader.BufferedFile, len(files))
	for i, f := range files {
		buffered[i] = &loader.BufferedFile{Name: f.Name, Data: f.Data}
	}
	c, err := loader.LoadFiles(buffered)
	if err != nil {
		return nil, &diag.Diag{Msg: fmt.Sprintf("%s: %s", ref, oneLine(err.Error())), Cause: err}
	}
	return c, nil
}

// digest returns the digest of data as pins write it.
func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func fault(hint, format string, args ...any) error {
	return &diag.Diag{Msg: fmt.Sprintf(format, args...), Hint: hint}
}
