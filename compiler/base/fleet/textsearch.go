package fleet

import (
	"slices"
	"strings"
)

// A textSearch looks for any of several strings in a text, with the algorithm of Wu and
// Manber ("A fast algorithm for multi-pattern searching", 1994): it reads few bytes of a
// text that contains no part of them.
type textSearch struct {
	patterns []string
	length   int // of the shortest pattern; at least 2
	// shift is how far the search may move, by the last two bytes of the window: 0 where a
	// pattern may begin at the window.
	shift [1 << pairBits]uint8
}

// pairBits is the number of bits of two bytes that select a shift. Pairs may share an entry,
// which then has the smaller shift.
const pairBits = 12

func newTextSearch(patterns ...string) *textSearch {
	s := &textSearch{patterns: patterns, length: 255}
	for _, p := range patterns {
		s.length = min(s.length, len(p))
	}
	for i := range s.shift {
		s.shift[i] = uint8(s.length - 1)
	}
	for _, p := range patterns {
		for end := 2; end <= s.length; end++ {
			i := lastPair(p[:end])
			s.shift[i] = min(s.shift[i], uint8(s.length-end))
		}
	}
	return s
}

// in reports whether the text contains one of the patterns.
func (s *textSearch) in(text string) bool {
	for end := s.length; end <= len(text); {
		shift := s.shift[lastPair(text[:end])]
		if shift == 0 {
			if slices.ContainsFunc(s.patterns, func(p string) bool { return strings.HasPrefix(text[end-s.length:], p) }) {
				return true
			}
			shift = 1
		}
		end += int(shift)
	}
	return false
}

// lastPair returns the index of a shift for the last two bytes of a text.
func lastPair(text string) uint16 {
	return (uint16(text[len(text)-2])<<(pairBits-8) ^ uint16(text[len(text)-1])) % (1 << pairBits)
}
