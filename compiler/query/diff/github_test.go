package diff

import (
	"strings"
	"testing"
)

// TestGitHubCommands parses the output as the runner does: it searches for
// commands, also in the old syntax, except between a stop command and its end.
func TestGitHubCommands(t *testing.T) {
	hostile := "::set-output name=a::b\n::error::x\n##[group]y\r::endgroup::\n::fleetc-::\n%0A::error::z"
	c := change("p", hostile, hostile+"\nmore")
	c.ID = "A\n::error::" + hostile
	r := Result{
		Groups:  []Group{{[]string{"\n::error::x", "##[error]"}, []Change{c, {ID: "B", Action: Create, Fields: []FieldChange{{After: hostile, HasAfter: true}}}}}},
		Created: []WholeCluster{{"::error::x", 1}}, Summary: Summary{Updated: 1, Created: 1, Changes: 4, Clusters: 2, Of: 3},
	}
	for _, s := range []Style{{}, {Colour: true, Content: true}} {
		var b strings.Builder
		if err := WriteGitHub(&b, r, s); err != nil {
			t.Fatal(err)
		}
		var commands []string
		stopped := ""
		for line := range strings.Lines(b.String()) {
			line = strings.TrimSpace(line)
			command, _, _ := strings.Cut(strings.TrimPrefix(line, "::"), "::")
			switch {
			case stopped != "":
				if line == "::"+stopped+"::" {
					stopped = ""
				}
			case !strings.HasPrefix(line, "::"):
				t.Errorf("a line outside of all sections: %q", line)
			case command == "stop-commands":
				stopped = strings.TrimPrefix(line, "::stop-commands::")
			default:
				commands = append(commands, command)
			}
		}
		if got := strings.Join(commands, ", "); stopped != "" || got != "notice title=fleetc diff, group, endgroup, group, endgroup" {
			t.Errorf("stopped %q, commands %s", stopped, got)
		}
	}
}

func TestGitHubOfNothing(t *testing.T) {
	var b strings.Builder
	if err := WriteGitHub(&b, Result{Summary: Summary{Of: 3}}, Style{}); err != nil || b.String() != "no differences in 3 clusters\n" {
		t.Errorf("got %q, %v", b.String(), err)
	}
}
