// Package cache keeps results on disk that are costly to make and follow from
// their key alone. What it has may be gone at any time: a miss costs work and
// changes nothing else. It does not know what the results are.
package cache

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	maxEntry = 64 << 20         // bytes of one result
	maxTotal = 1 << 30          // bytes of all
	fresh    = time.Hour        // how long a result counts as just used, and the folder as just swept
	tempFile = ".tmp-"          // begins the names of files that are being written
	marker   = "last-swept"     // its time is that of the last sweep
	tempLife = 10 * time.Minute // after which a file that is being written is one of a killed process
)

// A Cache is a folder of results. Several processes may use it at once. The
// zero value has nothing and keeps nothing.
type Cache struct {
	Dir      string
	ReadOnly bool // whether nothing is kept

	swept sync.Once
}

// file returns the file of a key.
func (c *Cache) file(key string) string {
	sum := sha256.Sum256([]byte(key))
	name := hex.EncodeToString(sum[:])
	return filepath.Join(c.Dir, name[:2], name)
}

// Get returns the result of a key. A damaged one is a miss, and removed.
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

// whole returns the result in a file, which has its sha256 in front; ok is false
// when that is not its.
func whole(stored []byte) (data []byte, ok bool) {
	if len(stored) < sha256.Size {
		return nil, false
	}
	sum, data := stored[:sha256.Size], stored[sha256.Size:]
	want := sha256.Sum256(data)
	return data, bytes.Equal(sum, want[:])
}

// Has reports whether there is a result of a key, which may be damaged. It counts
// as used.
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

// touch keeps a result from being swept.
func touch(file string, info fs.FileInfo) {
	if time.Since(info.ModTime()) > fresh {
		now := time.Now()
		_ = os.Chtimes(file, now, now)
	}
}

// Since returns a function that reports whether a file, or the directory that it
// is in, may have been changed since now, or is not there any more.
func Since() (changed func(file string) bool) {
	const coarse = 100 * time.Millisecond // how far the times of files may be behind
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

// Put keeps the result of a key. A folder that cannot be written to keeps
// nothing.
func (c *Cache) Put(key string, data []byte) {
	if c.Dir == "" || c.ReadOnly || len(data) > maxEntry {
		return
	}
	file := c.file(key)
	f, err := os.CreateTemp(filepath.Dir(file), tempFile)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return
		}
		f, err = os.CreateTemp(filepath.Dir(file), tempFile)
	}
	if err != nil {
		return
	}
	sum := sha256.Sum256(data)
	_, err = f.Write(sum[:])
	if err == nil {
		_, err = f.Write(data)
	}
	// Without waiting for the disk: a result that a power cut tears is found out
	// by its sum.
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return
	}
	c.swept.Do(func() { c.sweep(maxTotal) })
}

// sweep removes the results that were not used for longest, until all take less
// than the limit, and what killed processes left. It does so once an hour.
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
