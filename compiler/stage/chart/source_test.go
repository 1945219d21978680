package chart

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// pack creates a tar file. The Linkname of a regular file is its content.
func pack(t testing.TB, list ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, hd := range list {
		content := ""
		if hd.Typeflag == 0 {
			hd.Typeflag = tar.TypeReg
		}
		if hd.Typeflag == tar.TypeReg {
			content, hd.Linkname = hd.Linkname, ""
			hd.Size = int64(len(content))
		}
		if hd.Mode == 0 && hd.Typeflag != tar.TypeXGlobalHeader {
			hd.Mode = 0o644
		}
		if err := w.WriteHeader(&hd); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zip(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func file(name, content string) tar.Header { return tar.Header{Name: name, Linkname: content} }

func chartYAML(name, version string) string {
	return fmt.Sprintf("apiVersion: v2\nname: %s\nversion: %s\nappVersion: \"9\"\ndescription: The %[1]s chart\n", name, version)
}

// archive returns the gzipped archive of a small chart.
func archive(t testing.TB, name, version string) []byte {
	t.Helper()
	return zip(t, pack(t,
		file(name+"/Chart.yaml", chartYAML(name, version)),
		file(name+"/templates/cm.yaml", "kind: ConfigMap # "+version+"\n")))
}

// source returns a source with a root, an empty store and an isolated configuration.
func source(t *testing.T) *Source {
	t.Helper()
	isolate(t)
	return &Source{Root: t.TempDir(), Cache: filepath.Join(t.TempDir(), "cache")}
}

// nextRun returns a source with the same store and an empty memory, as in a later
// run.
func nextRun(s *Source) *Source { return &Source{Root: s.Root, Cache: s.Cache} }

func isolate(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "DOCKER_CONFIG", "HELM_CONFIG_HOME"} {
		t.Setenv(name, dir)
	}
	t.Setenv("HELM_REPOSITORY_CONFIG", filepath.Join(dir, "repositories.yaml"))
	t.Setenv("REGISTRY_AUTH_FILE", "")
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
}

func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		full := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(files[name]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// wantFault fails the test unless err is a single fault that contains all parts.
func wantFault(t testing.TB, err error, parts ...string) {
	t.Helper()
	d, ok := errors.AsType[*diag.Diag](err)
	if !ok {
		t.Fatalf("got %v, want a fault with %q", err, parts)
	}
	if len(d.At) > 0 || d.Path != "" || strings.Contains(d.Msg, "\n") || strings.HasSuffix(d.Msg, ".") {
		t.Errorf("a fault that the caller cannot place or print: %+v", d)
	}
	text := d.Msg + "\n" + d.Hint
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("fault %q does not have %q", text, part)
		}
	}
}

func names(files []fleet.File) []string {
	var list []string
	for _, f := range files {
		list = append(list, f.Name)
	}
	return list
}

func TestChartIsReadOnce(t *testing.T) {
	s := source(t)
	repo := newRepo(t, archive(t, "web", "1.0.0"))
	ref := repo.pin(t, "web", "1.0.0")
	var all sync.Map
	var wait sync.WaitGroup
	for range 16 {
		wait.Go(func() {
			c, err := s.Chart(context.Background(), ref)
			if err != nil {
				t.Error(err)
			}
			all.Store(c, true)
		})
	}
	wait.Wait()
	n := 0
	all.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Errorf("%d different charts, want one that all share", n)
	}
	if got := repo.count("/web-1.0.0.tgz"); got != 1 {
		t.Errorf("%d downloads, want 1", got)
	}
}

func TestSecondRunNeedsNoNetwork(t *testing.T) {
	s := source(t)
	repo := newRepo(t, archive(t, "web", "1.0.0"))
	ref := repo.pin(t, "web", "1.0.0")
	first, err := s.Chart(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	repo.server.Close()
	second, err := nextRun(s).Chart(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	if first.Digest != second.Digest || !slices.Equal(names(first.Files), names(second.Files)) {
		t.Errorf("got %v, then %v", first, second)
	}
	offline := nextRun(s)
	offline.Offline = true
	if _, err := offline.Chart(t.Context(), ref); err != nil {
		t.Errorf("offline, with the chart in the store: %v", err)
	}
	if err := offline.Verify(t.Context(), ref); err != nil {
		t.Errorf("offline verify, with the chart in the store: %v", err)
	}
	if err := nextRun(s).Verify(t.Context(), ref); err == nil {
		t.Error("verify took the store's bytes for the repository's")
	}
}

func TestOffline(t *testing.T) {
	s := source(t)
	s.Offline = true
	ref := fleet.ChartRef{Repo: "https://charts.example.com", Name: "web", Version: "1.0.0", Digest: digest(nil)}
	_, err := s.Chart(t.Context(), ref)
	wantFault(t, err, "https://charts.example.com/web@1.0.0 is not in the chart store", "run fleetc vet once with the network")
	wantFault(t, s.Verify(t.Context(), ref), "is not in the chart store")
	_, err = s.Resolve(t.Context(), Request{Ref: "https://charts.example.com/web"})
	wantFault(t, err, "adding a chart needs the network", "without --offline")
}

func TestDamagedStore(t *testing.T) {
	for name, damage := range map[string][]byte{"truncated": nil, "changed": []byte("something else")} {
		t.Run(name, func(t *testing.T) {
			s := source(t)
			repo := newRepo(t, archive(t, "web", "1.0.0"))
			ref := repo.pin(t, "web", "1.0.0")
			if _, err := s.Chart(t.Context(), ref); err != nil {
				t.Fatal(err)
			}
			stored := store{s.Cache}.file(ref.Digest)
			if err := os.WriteFile(stored, damage, 0o644); err != nil {
				t.Fatal(err)
			}
			offline := nextRun(s)
			offline.Offline = true
			_, err := offline.Chart(t.Context(), ref)
			wantFault(t, err, "is damaged in the chart store", "run fleetc vet once")
			if _, err := nextRun(s).Chart(t.Context(), ref); err != nil {
				t.Fatal(err)
			}
			if _, err := offline.read(t.Context(), offline.archive(ref)); err != nil {
				t.Errorf("the store was not repaired: %v", err)
			}
		})
	}
}

func TestMismatch(t *testing.T) {
	s := source(t)
	repo := newRepo(t, archive(t, "web", "1.0.0"))
	ref := repo.pin(t, "web", "1.0.0")
	now := ref.Digest
	ref.Digest = digest([]byte("what it was"))
	_, err := s.Chart(t.Context(), ref)
	wantFault(t, err, now, ref.Digest, "the repository replaced the archive",
		"fleetc chart add "+repo.url()+"/web --version 1.0.0")
	wantFault(t, s.Verify(t.Context(), ref), now, ref.Digest)
	if left, _ := filepath.Glob(filepath.Join(s.Cache, "charts", "sha256", "*")); len(left) > 0 {
		t.Errorf("the store has %v", left)
	}
}

func TestVerify(t *testing.T) {
	s := source(t)
	bad := zip(t, pack(t, file("web/Chart.yaml", chartYAML("web", "1.0.0")), file("web/values.yaml", "a: [")))
	repo := newRepo(t, archive(t, "web", "1.0.0"))
	if err := s.Verify(t.Context(), repo.pin(t, "web", "1.0.0")); err != nil {
		t.Error(err)
	}
	repo.replace("web-1.0.0.tgz", bad)
	ref := repo.pin(t, "web", "1.0.0")
	wantFault(t, s.Verify(t.Context(), ref), "values.yaml")
	write(t, s.Root, map[string]string{"a/Chart.yaml": "apiVersion: v2\nname: a\n", "b/Chart.yaml": chartYAML("b", "1.0.0")})
	wantFault(t, s.Verify(t.Context(), fleet.ChartRef{Path: "a"}), "version")
	if err := s.Verify(t.Context(), fleet.ChartRef{Path: "b"}); err != nil {
		t.Error(err)
	}
}
