package cache

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

func TestCache(t *testing.T) {
	c := &Cache{Dir: filepath.Join(t.TempDir(), "a", "b")}
	if _, ok := c.Get("k"); ok {
		t.Fatal("an empty cache has something")
	}
	for _, data := range [][]byte{[]byte("one"), []byte("two"), {}} {
		c.Put("k", data)
		if got, ok := c.Get("k"); !ok || !bytes.Equal(got, data) {
			t.Fatalf("got %q, %v, want %q", got, ok, data)
		}
	}
	if _, ok := c.Get("other"); ok {
		t.Error("another key has the result")
	}
	// A truncated, changed or empty file is a miss, and can be replaced.
	c.Put("k", []byte("result"))
	whole, err := os.ReadFile(c.file("k"))
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range [][]byte{whole[:len(whole)-1], append(bytes.Clone(whole[:len(whole)-1]), 'x'), nil, whole[:5]} {
		if err := os.WriteFile(c.file("k"), bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, ok := c.Get("k"); ok {
			t.Errorf("%q gives %q", bad, got)
		}
	}
	c.Put("k", []byte("again"))
	if got, _ := c.Get("k"); string(got) != "again" {
		t.Errorf("got %q", got)
	}
}

func TestCacheThatCannotBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []*Cache{{}, {Dir: filepath.Join(file, "x")}} {
		c.Put("k", []byte("x"))
		if _, ok := c.Get("k"); ok {
			t.Error("it has the result")
		}
	}
}

func TestManyAtOnce(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			c := &Cache{Dir: dir}
			for j := range 50 {
				key := fmt.Sprint(j % 5)
				if got, ok := c.Get(key); ok && string(got) != key {
					t.Errorf("%s has %q", key, got)
				}
				c.Put(key, []byte(key))
			}
			_ = i
		})
	}
	all.Wait()
}

func TestSweep(t *testing.T) {
	c := &Cache{Dir: t.TempDir()}
	c.swept.Do(func() {})
	age := func(file string, d time.Duration) {
		t.Helper()
		at := time.Now().Add(-d)
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
	for i, key := range []string{"old", "middle", "new"} {
		c.Put(key, make([]byte, 1000))
		age(c.file(key), time.Duration(10-i)*time.Hour)
	}
	// Get updates the time of use.
	if _, ok := c.Get("old"); !ok {
		t.Fatal("no result")
	}
	for name, d := range map[string]time.Duration{"killed": time.Hour, "busy": 0} {
		file := filepath.Join(filepath.Dir(c.file("new")), tempFile+name)
		if err := os.WriteFile(file, make([]byte, 5000), 0o600); err != nil {
			t.Fatal(err)
		}
		age(file, d)
	}
	c.sweep(2500)
	for key, want := range map[string]bool{"old": true, "middle": false, "new": true} {
		if _, ok := c.Get(key); ok != want {
			t.Errorf("%s is there: %v", key, ok)
		}
	}
	for name, want := range map[string]bool{"killed": false, "busy": true} {
		if _, err := os.Stat(filepath.Join(filepath.Dir(c.file("new")), tempFile+name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	c.sweep(0) // within the hour
	if _, ok := c.Get("old"); !ok {
		t.Error("swept twice within an hour")
	}
}

func FuzzGet(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(make([]byte, 40))
	f.Fuzz(func(t *testing.T, stored []byte) {
		c := &Cache{Dir: t.TempDir()}
		c.Put("k", []byte("x"))
		if err := os.WriteFile(c.file("k"), stored, 0o600); err != nil {
			t.Fatal(err)
		}
		if data, ok := c.Get("k"); ok && len(stored) != len(data)+32 {
			t.Errorf("%q gives %q", stored, data)
		}
	})
}
