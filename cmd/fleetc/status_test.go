package main

import (
	"slices"
	"testing"

	"github.com/fleetc/fleetc/compiler/deliver"
)

// Kinds that cannot be listed may have orphans.
func TestOrphanNotes(t *testing.T) {
	want := []string{"has no orphans of the kinds that can be listed"}
	if got := orphanNotes(&deliver.Status{Orphans: []string{}, Unread: []string{"Secret"}}); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if got := orphanNotes(&deliver.Status{Orphans: []string{}}); !slices.Equal(got, []string{"has no orphans"}) {
		t.Errorf("got %q", got)
	}
}
