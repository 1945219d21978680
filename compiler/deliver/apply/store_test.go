package apply

import (
	"strings"
	"testing"
)

func TestHeadName(t *testing.T) {
	for module, want := range map[string]string{
		"example.com/infra":             "inventory.example.com.infra",
		"Example.com/Team-A/fleet":      "inventory.example.com.team-a.fleet",
		"example.com/under_score":       "inventory." + fleetLabel("example.com/under_score"),
		"e/" + strings.Repeat("a", 300): "inventory." + fleetLabel("e/"+strings.Repeat("a", 300)),
	} {
		if got := headName(module); got != want {
			t.Errorf("%s: got %s, want %s", module, got, want)
		}
	}
}

// Fleets do not share chunks, because each fleet deletes its own.
func TestChunkNamesOfFleets(t *testing.T) {
	one, two := chunkNamesOf("example.com/one", bundlePrefix, []byte("same")), chunkNamesOf("example.com/two", bundlePrefix, []byte("same"))
	if one[0] == two[0] {
		t.Errorf("both fleets have %s", one[0])
	}
	for _, name := range append(one, two...) {
		if !chunkNames.MatchString(name) {
			t.Errorf("%s is not the name of a chunk", name)
		}
	}
	if fleetLabel("example.com/one") == fleetLabel("example.com/two") {
		t.Error("both fleets have the same label")
	}
}
