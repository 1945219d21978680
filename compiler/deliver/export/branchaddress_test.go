package export

import (
	"os/exec"
	"strings"
	"testing"
)

// TestIsBranchName compares IsBranchName with git, for names with each byte and with the sequences
// that git refuses.
func TestIsBranchName(t *testing.T) {
	names := []string{
		"", "main", "a/b", "/a", "a/", "a//b", "/", ".a", "a/.b", "a.b", "a.", "a./b", "a..b", "..", ".", "a.lock", "a.lock/b", "a.lockb", ".lock", "lock", "@", "a@{b", "a@b", "@/a",
		"HEAD", "a-b", "-a", "a/-b", "--force", "ä", "\xff", "refs/heads/a", strings.Repeat("a/", 100) + "a", "a\nb", "a b",
	}
	for c := range 256 {
		if c > 0 { // no argument has it
			names = append(names, "a"+string([]byte{byte(c)})+"b")
		}
	}
	for _, name := range names {
		isOther := name == "HEAD" || name == "@" || strings.HasPrefix(name, "refs/")
		want := !isOther && exec.Command("git", "check-ref-format", "refs/heads/"+name).Run() == nil && !strings.HasPrefix(name, "-")
		if got := IsBranchName(name); got != want {
			t.Errorf("%q: got %v, and git says %v", name, got, want)
		}
	}
	if IsBranchName("a\x00b") {
		t.Error("a name with a zero byte is accepted")
	}
}
