package e2e

import (
	"os/exec"
	"slices"
	"strings"
)

// A secretCommand is a command line, with its exit status.
type secretCommand struct {
	line string
	exit int
}

// secretCommands are command lines of every command of fleetc for
// the fleet of newSecrets.
var secretCommands = []secretCommand{
	{"affected --since git:HEAD", 0},
	{"apply --dry-run", 0},
	{"build", 0},
	{"cache", 0},
	{"cache why dev/one", 0},
	{"cache clean", 0},
	{"chart add ./chart", 0},
	{"chart add --refresh", 0},
	{"chart outdated", 0},
	{"image outdated --offline", 2},
	{"image update --offline", 2},
	{"chart update chart", 2},
	{"chart values app", 0},
	{"chart vendor", 0},
	{"chart verify", 0},
	{"compare --all", 2},
	{"completion bash", 0},
	{"diff --against git:HEAD --content", 0},
	{"diff --live", 0},
	{"drift", 0},
	{"explain dev/one releases.charted.values.secrets", 0},
	{"explain dev/one Secret/charted stringData.url", 0},
	{"export --out exported", 2},
	{"fmt", 0},
	{"help", 0},
	{"history dev/one", 0},
	{"import argocd . --dry-run", 2},
	{"import flux . --cluster a=environments --dry-run", 2},
	{"image list", 0},
	{"import helmfile . --dry-run", 2},
	{"import kustomize . --dry-run", 2},
	{"import helm --context CONTEXT --dry-run", 2},
	{"init", 0},
	{"fix --dry-run", 0},
	{"lift --dry-run", 0},
	{"list", 0},
	{"lsp", 0},
	{"report --out report.html --live --against git:HEAD", 0},
	{"report --markdown", 0},
	{"rollback dev/one --to 1 --dry-run", 1},
	{"rollout approve all --bundle TEXT", 2},
	{"rollout pause", 0},
	{"rollout abort", 0},
	{"rollout report dev/one --git .", 2},
	{"rollout status -o markdown", 0},
	{"rollout resume", 0},
	{"secret check", 0},
	{"secret edit token", 2},
	{"secret edit secrets/db.yaml", 0},
	{"secret list --render -o json", 0},
	{"secret rotate --data-key --dry-run", 0},
	{"secret set token", 2},
	{"source add https://127.0.0.1:1/a", 2},
	{"status", 0},
	{"test dev/one", 2},
	{"update --dry-run --offline", 2},
	{"update --dry-run --offline -o markdown", 2},
	{"version", 0},
	{"vet -v --render --secrets", 0},
	{"destroy dev/one --dry-run", 1},
}

// everyCommand runs every command of fleetc, in each format, for a search for the values.
func (p *secretPlace) everyCommand() {
	p.Helper()
	p.write("environments/rollout.cue", "package fleet\n\nrollout: waves: [{name: \"all\", others: true}]\n")
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "fleet"}} {
		if out, err := exec.Command("git", append([]string{"-C", p.dir}, args...)...).CombinedOutput(); err != nil {
			p.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	for _, c := range secretCommands {
		words := strings.Fields(strings.ReplaceAll(c.line, "CONTEXT", p.clusters["one"].Context))
		if r := p.run(words...); r.status != c.exit {
			p.Errorf("%s: exit status %d, want %d\n%s", r.command, r.status, c.exit, r.stderr)
		}
		p.run(append(words, "-o", "json")...) // some commands have no formats
	}
	p.checkComplete("")
}

// checkComplete checks that every command below one is among secretCommands.
func (p *secretPlace) checkComplete(above string) {
	p.Helper()
	help := p.fleetc(append(strings.Fields(above), "--help")...).ok(p.place).stdout
	_, list, ok := strings.Cut(help, "Available Commands:\n")
	if !ok {
		if !slices.ContainsFunc(secretCommands, func(c secretCommand) bool { return c.line == above || strings.HasPrefix(c.line, above+" ") }) {
			p.Errorf("fleetc %s is not run", above)
		}
		return
	}
	list, _, _ = strings.Cut(list, "\n\n")
	for line := range strings.Lines(list) {
		if name := strings.Fields(line); len(name) > 0 && name[0] != "completion" {
			p.checkComplete(strings.TrimSpace(above + " " + name[0]))
		}
	}
}
