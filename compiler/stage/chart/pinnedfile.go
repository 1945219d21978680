package chart

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A pinnedFile is a download with a pinned digest: the archive of a chart, a document to
// which a schema refers, or a source of kustomizations.
type pinnedFile struct {
	name     string // of its copy in the fleet's repository
	kind, of string // for messages: the archive of a chart
	digest   string
	download func(ctx context.Context) ([]byte, error)
	missing  func(found state) error // the fault when the store lacks it and the network is off
	changed  func(got string) error  // the fault when the download has another digest
}

// read returns a file from the fleet's repository, the store or the network.
func (s *Source) read(ctx context.Context, p pinnedFile) ([]byte, error) {
	data, err := s.vendored(p)
	if data != nil || err != nil {
		return data, err
	}
	return s.stored(ctx, p)
}

// has reports whether the fleet's repository or the store has a file.
func (s *Source) has(ctx context.Context, p pinnedFile) bool {
	here := &Source{Root: s.Root, Cache: s.Cache, Offline: true}
	_, err := here.read(ctx, p)
	return err == nil
}

// vendored returns the copy of a file in the fleet's repository, nil when it does not
// exist. A copy with another digest is a fault.
func (s *Source) vendored(p pinnedFile) ([]byte, error) {
	if s.Root == "" {
		return nil, nil
	}
	root, err := os.OpenRoot(s.Root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(filepath.FromSlash(p.name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	wrong := func(msg string) error {
		return &diag.Diag{Code: diag.CodeVendoredCopy, At: []diag.Pos{{File: p.name}}, Msg: msg, Hint: "run fleetc chart vendor, which fetches it again", Cause: err}
	}
	if err != nil || !info.Mode().IsRegular() {
		return nil, wrong("the " + p.kind + " of " + p.of + " cannot be read")
	}
	data, err := readFile(root, p.name, maxDownload)
	if err != nil {
		return nil, wrong("the " + p.kind + " of " + p.of + " cannot be read")
	}
	if got := digest(data); got != p.digest {
		// Git for Windows writes other line ends into texts.
		if data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")); digest(data) == p.digest {
			return data, nil
		}
		return nil, wrong(fmt.Sprintf("the %s has the digest %s, the pin of %s says %s", p.kind, got, p.of, p.digest))
	}
	return data, nil
}

// stored returns a file from the store. It downloads the file when the store lacks it or
// has a damaged copy.
func (s *Source) stored(ctx context.Context, p pinnedFile) ([]byte, error) {
	st, err := s.store()
	if err != nil {
		return nil, err
	}
	data, found, err := st.read(p.digest)
	if err != nil || found == intact {
		return data, err
	}
	if s.Offline {
		return nil, p.missing(found)
	}
	if data, err = p.fetch(ctx); err != nil {
		return nil, err
	}
	s.swept.Do(st.sweep)
	return data, st.write(p.digest, data)
}

// fetch downloads the file and checks its digest.
func (p pinnedFile) fetch(ctx context.Context) ([]byte, error) {
	data, err := p.download(ctx)
	if err != nil {
		return nil, err
	}
	if got := digest(data); got != p.digest {
		return nil, p.changed(got)
	}
	return data, nil
}

// verify downloads a file again and checks its digest, also that of the copy in the fleet's
// repository. Offline, it checks the copy there or in the store.
func (s *Source) verify(ctx context.Context, p pinnedFile) ([]byte, error) {
	if s.Offline {
		return s.read(ctx, p)
	}
	if _, err := s.vendored(p); err != nil {
		return nil, err
	}
	return p.fetch(ctx)
}
