package values

import (
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// unread returns the outermost keys that nothing reads.
func (s *specimen) unread() []defaultKey {
	var keys []defaultKey
	for _, key := range s.keys {
		if _, ok := s.reads.At(key.path...); ok {
			continue
		}
		if n := len(keys); n > 0 && len(keys[n-1].path) < len(key.path) && slices.Equal(keys[n-1].path, key.path[:len(keys[n-1].path)]) {
			continue
		}
		keys = append(keys, key)
	}
	return keys
}

// dumps returns the templates that print all values at once.
func dumps(n *Read, files map[string]bool) map[string]bool {
	if n == nil {
		return files
	}
	if n.Mode&Dumped != 0 {
		file, _, _ := strings.Cut(n.Where, ":")
		files[file] = true
	}
	for _, kid := range n.Keys {
		dumps(kid, files)
	}
	return dumps(n.Any, files)
}

// differs returns the first file that differs between base and other, "" for
// none. It ignores nondeterministic files, and files that print all values at
// once.
func (s *specimen) differs(base, again, other map[string]string) string {
	dumped := dumps(s.reads, map[string]bool{})
	names := maps.Clone(base)
	maps.Copy(names, other)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if base[name] == again[name] && base[name] != other[name] && !dumped[name] {
			return name
		}
	}
	return ""
}

// switchedOn returns values that enable every switch with which the chart still
// renders.
func (s *specimen) switchedOn(t testing.TB) map[string]any {
	values := map[string]any{}
	groups := map[string][]defaultKey{}
	for _, key := range s.keys {
		if b, ok := key.value.(bool); ok && !b {
			groups[key.path[0]] = append(groups[key.path[0]], key)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		next := values
		for _, key := range groups[name] {
			next = with(next, key.path, true)
		}
		if s.render(t, next)["error"] == "" {
			values = next
			continue
		}
		for _, key := range groups[name] {
			if next := with(values, key.path, true); s.render(t, next)["error"] == "" {
				values = next
			}
		}
	}
	return values
}

// TestUnreadKeysChangeNothing is a perturbation test: it renders every chart
// with every set of values, changes the keys that count as unread, and renders
// again.
func TestUnreadKeysChangeNothing(t *testing.T) {
	log.SetOutput(io.Discard) // Helm's warnings
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
	var all, unread int
	for _, s := range specimens(t) {
		t.Run(s.name, func(t *testing.T) {
			if s.reads.GaveUp != "" {
				t.Errorf("gave up: %s", s.reads.GaveUp)
			}
			dead := s.unread()
			all, unread = all+s.leaves(s.keys), unread+s.leaves(dead)
			t.Logf("of %d keys %d are unread: %v", s.leaves(s.keys), s.leaves(dead), dead)
			if len(dead) == 0 {
				return
			}
			s.sets["switched on"] = s.switchedOn(t)
			for _, set := range slices.Sorted(maps.Keys(s.sets)) {
				values := s.sets[set]
				base, again := s.render(t, values), s.render(t, values)
				if base["error"] != "" {
					t.Logf("%s: %s", set, base["error"])
					continue
				}
				all := values
				for _, key := range dead {
					all = with(all, key.path, mutated(key.value))
				}
				if s.differs(base, again, s.render(t, all)) == "" {
					continue
				}
				for _, key := range dead {
					if file := s.differs(base, again, s.render(t, with(values, key.path, mutated(key.value)))); file != "" {
						t.Errorf("%s: %s changes %s", set, key, file)
					}
				}
			}
		})
	}
	t.Logf("of %d keys %d are unread", all, unread)
}

// leaves counts the keys without keys below them, at or below the given keys.
func (s *specimen) leaves(keys []defaultKey) int {
	n := 0
	for _, key := range s.keys {
		if key.leaf && slices.ContainsFunc(keys, func(k defaultKey) bool {
			return len(k.path) <= len(key.path) && slices.Equal(k.path, key.path[:len(k.path)])
		}) {
			n++
		}
	}
	return n
}

// The minimum percentage of misspelt keys to detect. The others are in maps that
// are printed as a whole or iterated, which are more frequent in small charts.
// Over 19 public charts, the percentages are 84 and 95.
const (
	wantLast  = 77
	wantInner = 92
)

// TestMisspeltKeys changes one letter of every default key and counts how many
// still count as read.
func TestMisspeltKeys(t *testing.T) {
	var total tally
	for _, s := range specimens(t) {
		var c tally
		why := map[string]int{}
		for _, key := range s.keys {
			for i := range key.path {
				path := slices.Clone(key.path)
				path[i] = misspelt(path[i])
				_, ok := s.reads.At(path...)
				last := i == len(path)-1
				switch {
				case last && key.leaf:
					c.last++
				case !last && key.leaf:
					c.inner++
				}
				if !key.leaf || ok {
					if key.leaf && last {
						why[s.escape(path)]++
					}
					continue
				}
				if last {
					c.lastCaught++
				} else {
					c.innerCaught++
				}
			}
		}
		t.Logf("%-28s %s", s.name, c)
		if testing.Verbose() {
			for _, w := range slices.Sorted(maps.Keys(why)) {
				t.Logf("    %4d %s", why[w], w)
			}
		}
		total = total.plus(c)
	}
	t.Logf("%-28s %s", "all", total)
	if *chartsDir == ownCharts && (total.lastCaught*100 < total.last*wantLast || total.innerCaught*100 < total.inner*wantInner) {
		t.Errorf("%s, want %d and %d per cent", total, wantLast, wantInner)
	}
}

// escape describes the node that accepts the path.
func (s *specimen) escape(path []string) string {
	n, _ := s.reads.At(path...)
	for i := len(path) - 1; i >= 0; i-- {
		if at, _ := s.reads.At(path[:i]...); at != nil && at.Mode&(Printed|Ranged) != 0 && n != at || at == n {
			return fmt.Sprintf("%s %03b %s", strings.Join(path[:i], "."), at.Mode, at.Where)
		}
	}
	return n.Where
}

type tally struct{ last, lastCaught, inner, innerCaught int }

func (t tally) plus(u tally) tally {
	return tally{t.last + u.last, t.lastCaught + u.lastCaught, t.inner + u.inner, t.innerCaught + u.innerCaught}
}

func (t tally) String() string {
	return fmt.Sprintf("last segments %d of %d, inner segments %d of %d", t.lastCaught, t.last, t.innerCaught, t.inner)
}

// misspelt returns the key with one letter changed.
func misspelt(key string) string {
	i := len(key) / 2
	if i >= len(key) {
		return key + "x"
	}
	letter := "x"
	if key[i] == 'x' {
		letter = "q"
	}
	return key[:i] + letter + key[i+1:]
}
