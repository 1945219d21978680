// Package cache stores what compiling computes for other runs of the same build: types of
// values, valid CRDs and the rendered objects of releases. A [Store] knows these results and
// makes their keys, a [Cache] stores them on disk. Entries may disappear at any time: a miss
// costs time and changes nothing else.
package cache

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

const (
	maxEntry = 64 << 20         // bytes of one result
	maxTotal = 1 << 30          // bytes of all results
	fresh    = time.Hour        // age up to which a result need not be touched, and the folder need not be swept
	tempFile = ".tmp-"          // prefix of files that are being written
	marker   = "last-swept"     // file whose modification time is that of the last sweep
	tempLife = 10 * time.Minute // age from which a temporary file belongs to a killed process
)

// A Cache is a folder of results. Several processes may use it concurrently.
// The zero value is always empty.
type Cache struct {
	Dir      string
	ReadOnly bool // whether Put stores nothing

	swept sync.Once
}

// file returns the file of a key.
func (c *Cache) file(key string) string {
	sum := sha256.Sum256([]byte(key))
	name := hex.EncodeToString(sum[:])
	return filepath.Join(c.Dir, name[:2], name)
}

// Get returns the result of a key. A damaged entry is a miss and is removed.
func (c *Cache) Get(key string) (data []byte, ok bool) {
	if c.Dir == "" {
		return nil, false
	}
	f, err := os.Open(c.file(key))
	if err != nil {
		return nil, false
	}
	defer f.Close()
	stored, err := io.ReadAll(io.LimitReader(f, maxEntry+sha256.Size+1))
	if err != nil {
		return nil, false
	}
	if data, ok = whole(stored); !ok {
		_ = os.Remove(f.Name())
		return nil, false
	}
	if info, err := f.Stat(); err == nil {
		touch(f.Name(), info)
	}
	return data, true
}

// GetJSON decodes the result of a key, and reports whether there is one.
func (c *Cache) GetJSON(key string, into any) bool {
	data, ok := c.Get(key)
	return ok && json.Unmarshal(data, into) == nil
}

// PutJSON stores a result that [Cache.GetJSON] decodes.
func (c *Cache) PutJSON(key string, result any) {
	if data, err := json.Marshal(result); err == nil {
		c.Put(key, data)
	}
}

// whole returns the result in a file, which begins with its SHA-256; ok is
// false for a wrong sum.
func whole(stored []byte) (data []byte, ok bool) {
	if len(stored) < sha256.Size {
		return nil, false
	}
	sum, data := stored[:sha256.Size], stored[sha256.Size:]
	want := sha256.Sum256(data)
	return data, bytes.Equal(sum, want[:])
}

// Has reports whether there is an entry for a key, which may be damaged. It
// counts as a use of the entry.
func (c *Cache) Has(key string) bool {
	if c.Dir == "" {
		return false
	}
	file := c.file(key)
	info, err := os.Stat(file)
	if err == nil {
		touch(file, info)
	}
	return err == nil
}

// touch records the use of an entry, for the sweep.
func touch(file string, info fs.FileInfo) {
	if time.Since(info.ModTime()) > fresh {
		now := time.Now()
		_ = os.Chtimes(file, now, now)
	}
}

// Since returns a function that reports whether a file or its directory may
// have changed since now, or is missing.
func Since() (changed func(file string) bool) {
	const coarse = 100 * time.Millisecond // resolution of file times
	start := time.Now().Add(-coarse)
	return func(file string) bool {
		for _, name := range []string{file, filepath.Dir(file)} {
			if info, err := os.Stat(name); err != nil || info.ModTime().After(start) {
				return true
			}
		}
		return false
	}
}

// Put stores the result of a key. It does nothing if the folder is not
// writable.
func (c *Cache) Put(key string, data []byte) {
	if c.Dir == "" || c.ReadOnly || len(data) > maxEntry {
		return
	}
	file := c.file(key)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return
	}
	sum := sha256.Sum256(data)
	// No fsync: the sum detects a file that was cut off by a power failure.
	next := fleet.Replacement{File: file, Temp: tempFile + rand.Text(), Mode: 0o600}
	if err := next.Write(slices.Concat(sum[:], data)); err != nil {
		return
	}
	c.swept.Do(func() { c.sweep(maxTotal) })
}

// sweep removes the least recently used results until their size is below the
// limit, and temporary files of killed processes. It does so once an hour.
func (c *Cache) sweep(limit int64) {
	mark := filepath.Join(c.Dir, marker)
	if info, err := os.Stat(mark); err == nil && time.Since(info.ModTime()) < fresh {
		return
	}
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		return
	}
	type entry struct {
		file string
		size int64
		used time.Time
	}
	var all []entry
	var total int64
	_ = filepath.WalkDir(c.Dir, func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || file == mark {
			return nil //nolint:nilerr // what cannot be read stays
		}
		info, err := e.Info()
		switch {
		case err != nil:
		case strings.HasPrefix(e.Name(), tempFile):
			if time.Since(info.ModTime()) > tempLife {
				_ = os.Remove(file)
			}
		default:
			all = append(all, entry{file, info.Size(), info.ModTime()})
			total += info.Size()
		}
		return nil
	})
	slices.SortFunc(all, func(a, b entry) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.file, b.file)) })
	for _, e := range all {
		if total <= limit {
			return
		}
		if os.Remove(e.file) == nil {
			total -= e.size
		}
	}
}
