// Package chart fetches charts and checks their digests.
//
// A chart comes from an HTTP repository, a registry, a git repository or the fleet's
// own repository. Downloads go into a content-addressed store, so a second run needs
// no network. The package checks the digest on every read, from the store too. It
// reads archives within limits, and writes only to the store and, with [Source.Vendor], to
// the fleet's repository. It does not render
// charts.
//
// It also talks to OCI registries of images and bundles, see [OpenRegistry] and
// [RegistryImages]. It uses the credentials of docker login, and HTTPS except for this
// machine and private addresses. Sizes and numbers of answers are limited, since
// registries are not trusted.
//
// It is large because each kind of address has its own protocol, credentials and digests.
package chart

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	helm "helm.sh/helm/v3/pkg/chart"
	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

const (
	maxDownload = 100 << 20        // bytes of a compressed archive
	maxIndex    = 64 << 20         // bytes of a repository's index.yaml
	timeout     = 10 * time.Minute // for one chart
)

// A Source loads charts. It reads each chart once and is safe for concurrent use. It
// must not be copied after first use.
type Source struct {
	Root    string // absolute path of the fleet's root, which contains all charts by path
	Cache   string // directory of the store; empty for fleetc in the user's cache folder
	Offline bool   // refuse network access

	charts  memo[fleet.ChartRef, *fleet.Chart]
	indexes memo[string, index]        // by URL of the repository
	helm    memo[string, []repository] // by path of Helm's repositories.yaml
	clients memo[string, *http.Client] // by URL of the repository
	swept   sync.Once

	transportOnce sync.Once
	transport     *http.Transport
	waiting       http.RoundTripper // transport for registries
}

// Chart returns the chart that ref pins, from the fleet's repository, the store or
// the network. It returns a fault when the chart cannot be fetched, has another
// digest, or does not load. The result is shared and must not be modified.
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

// own returns the files of a chart without its dependencies.
func (s *Source) own(ctx context.Context, ref fleet.ChartRef) ([]fleet.File, error) {
	if ref.Path != "" {
		files, _, err := s.local(ref)
		return files, err
	}
	data, err := s.read(ctx, s.archive(ref))
	if err != nil {
		return nil, err
	}
	files, err := remoteFiles(ref, data)
	if err != nil {
		return nil, err
	}
	return files, checkVersion(ref, files)
}

// checkVersion returns a fault when the archive is one of another version: the version
// of a pin was changed without its digest. The store has archives by digest, so a
// machine that has the old archive would not notice.
func checkVersion(ref fleet.ChartRef, files []fleet.File) error {
	if ref.Repo == "" {
		return nil
	}
	for _, f := range files {
		var meta struct {
			Version string `json:"version"`
		}
		// Helm's loader reports an invalid Chart.yaml.
		if f.Name == "Chart.yaml" && yaml.Unmarshal(f.Data, &meta) == nil && meta.Version != "" && !sameVersion(meta.Version, ref.Version) {
			return pinAgain(ref, ", or fleetc chart add --refresh after a change of the version",
				"%s: the archive with the pinned digest has the version %s", ref, oneLine(meta.Version))
		}
	}
	return nil
}

// contentDigest returns a digest of the complete content of a chart.
func contentDigest(ref fleet.ChartRef, files []fleet.File) string {
	switch {
	case ref.Path != "":
		return filesDigest(files)
	case ref.Dependencies != "":
		return digest([]byte(ref.Digest + "\n" + string(ref.Dependencies)))
	}
	return ref.Digest
}

// Has reports whether the fleet's repository or the store has the archive with the
// pinned digest. It is always true for a chart by path, which has no digest.
func (s *Source) Has(ctx context.Context, ref fleet.ChartRef) bool {
	return checkRef(ref) == nil && !slices.ContainsFunc(s.pinnedFiles(ref), func(p pinnedFile) bool { return !s.has(ctx, p) })
}

// pinnedFiles returns the documents of schemas, the archives of dependencies and the archive
// that a chart pins.
func (s *Source) pinnedFiles(ref fleet.ChartRef) []pinnedFile {
	var out []pinnedFile
	for at, want := range ref.Schemas.All() {
		out = append(out, s.schema(ref, at, want))
	}
	for _, of := range append(dependencies(ref), ref) {
		if of.Path == "" {
			out = append(out, s.archive(of))
		}
	}
	return out
}

// Verify downloads the chart and its pinned dependencies again, also if they are in
// the fleet's repository or the store. Offline, it uses only these copies. It
// returns a fault when a digest differs or the chart does not load. It also checks
// the archive in the fleet's repository. For a chart by path it checks only that the
// chart loads.
func (s *Source) Verify(ctx context.Context, ref fleet.ChartRef) error {
	if err := checkRef(ref); err != nil {
		return err
	}
	var faults diag.List
	for at, want := range ref.Schemas.All() {
		_, err := s.verify(ctx, s.schema(ref, at, want))
		faults.Add(err)
	}
	if len(faults) > 0 {
		return faults.Err()
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
	_, err = load(ref, files)
	return err
}

// verified downloads a remote chart again and returns its files.
func (s *Source) verified(ctx context.Context, ref fleet.ChartRef) ([]fleet.File, error) {
	data, err := s.verify(ctx, s.archive(ref))
	if err != nil {
		return nil, err
	}
	return remoteFiles(ref, data)
}

// archive returns the archive of a remote chart.
func (s *Source) archive(ref fleet.ChartRef) pinnedFile {
	return pinnedFile{
		name: vendoredName(ref), kind: "archive", of: ref.String(), digest: ref.Digest,
		download: func(ctx context.Context) ([]byte, error) {
			return bounded(ctx, ref.String(), func(ctx context.Context) ([]byte, error) {
				switch {
				case ref.Git.URL != "":
					data, _, err := s.fetchGit(ctx, ref.Git)
					return data, err
				case isOCI(ref.Repo):
					return s.fetchOCI(ctx, ref.Repo+"/"+ref.Name, tagOf(ref.Version))
				}
				return s.fetchHTTP(ctx, ref)
			})
		},
		missing: func(found state) error {
			missing := "is not in the chart store"
			if found == damaged {
				missing = "is damaged in the chart store"
			}
			return fault(diag.CodeNotInStore, "run fleetc vet once with the network", "%s %s, and the network is off", ref, missing)
		},
		changed: func(got string) error {
			from := "the repository replaced the archive"
			switch {
			case strings.Trim(ref.Digest, "0") == "sha256:":
				from = "the pin has no digest yet, because an import could not fetch the chart"
			case ref.Git.URL != "":
				from = "the ref moved or the repository was rewritten"
			}
			return fault(diag.CodeDigestMismatch, from+": check it, then run "+addCommand(ref),
				"%s has the digest %s, its pin says %s", ref, got, ref.Digest)
		},
	}
}

// bounded calls work with a deadline. When ctx or the deadline ends, the error names
// the operation.
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
		return v, fault(diag.CodeNetwork, "run the command again", "%s: the download did not finish within %s", what, timeout)
	}
	return v, err
}

// otherVersion is the hint for the files of a remote chart that are not valid.
const otherVersion = "use another version, or report the fault to the owner of the chart"

// filesHint returns the hint for a chart whose files are not valid.
func filesHint(ref fleet.ChartRef) string {
	if ref.Path != "" {
		return "correct the files of the chart"
	}
	return otherVersion
}

// remoteFiles unpacks the archive of a remote chart. For charts in git it applies
// .helmignore, as Helm does for directories.
func remoteFiles(ref fleet.ChartRef, data []byte) ([]fleet.File, error) {
	files, err := unpack(data)
	if err == nil && ref.Git.URL != "" {
		files, err = withoutIgnored(files)
	}
	if err != nil {
		return nil, &diag.Diag{Code: diag.CodeChartFiles, Msg: fmt.Sprintf("%s: %s", ref, err), Hint: otherVersion, Cause: err}
	}
	return files, nil
}

// load parses the files as a chart with Helm's loader.
func load(ref fleet.ChartRef, files []fleet.File) (*helm.Chart, error) {
	c, err := fleet.LoadChart(files)
	if err != nil {
		return nil, &diag.Diag{Code: diag.CodeChartFiles, Msg: fmt.Sprintf("%s: %s", ref, oneLine(err.Error())), Hint: filesHint(ref), Cause: err}
	}
	return c, nil
}

// digest returns the sha256 of data in the format of pins.
func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func fault(code diag.Code, hint, format string, args ...any) error {
	return &diag.Diag{Code: code, Msg: fmt.Sprintf(format, args...), Hint: hint}
}

// DirFiles returns the files of a chart in a directory below a root, as Helm reads them. where
// names the root in faults; it is empty if symbolic links are left out instead of followed.
func DirFiles(root *os.Root, name, where string) ([]fleet.File, error) {
	if err := outOfGit(root, name); err != nil {
		return nil, err
	}
	return readDir(root, name, where)
}
