package git

import (
	"slices"
	"testing"
)

// Files have the line ends of the working tree where git converts them.
func TestLineEnds(t *testing.T) {
	for _, below := range []string{"", "infra"} {
		repo, dir := fleet(t, below)
		write(t, dir, map[string]string{
			".gitattributes": "text text\nauto text=auto\neol eol=crlf\nbinary -text\n",
			"text":           "1\n2\n", "auto": "1\n2\n", "eol": "1\n2\n", "binary": "1\n2\n", "none": "1\n2\n", "mixed": "1\r\n2\n", "edited": "1\n2\n",
		})
		runGit(t, dir, "config", "core.autocrlf", "false")
		commitAll(t, repo)
		crlf := "1\r\n2\r\n"
		write(t, dir, map[string]string{"text": crlf, "auto": crlf, "eol": crlf, "binary": crlf, "none": crlf, "mixed": crlf, "edited": crlf + "3\r\n"})
		check := func(changed []string, want map[string]string) {
			t.Helper()
			if got, err := Changed(t.Context(), dir, "HEAD"); err != nil || !slices.Equal(got, changed) {
				t.Errorf("changed %q, %v, want %q", got, err, changed)
			}
			root, done, err := Checkout(t.Context(), dir, "HEAD")
			if err != nil {
				t.Fatal(err)
			}
			defer done()
			files := tree(t, root)
			for name, text := range want {
				if files[name] != text {
					t.Errorf("%s is %q, want %q", name, files[name], text)
				}
			}
		}
		want := map[string]string{"text": crlf, "auto": crlf, "eol": crlf, "binary": "1\n2\n", "none": "1\n2\n", "mixed": "1\r\n2\n", "edited": "1\n2\n"}
		check([]string{"binary", "edited", "mixed", "none"}, want)
		runGit(t, dir, "config", "core.autocrlf", "True")
		want["none"], want["edited"] = crlf, crlf
		check([]string{"binary", "edited", "mixed"}, want)
	}
}
