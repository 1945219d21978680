package importer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Events of hooks that are before and after the objects of a release change.
var (
	eventsBefore = []string{"presync", "preapply"}
	eventsAfter  = []string{"postsync", "postapply"}
)

// hooks adds the hooks of a release as actions: commands of PATH before or after an apply.
// Exports leave them out, since helmfile did not run them in the cluster either. Others are
// noted.
func (e *environmentRun) hooks(d *helmfileRelease, out *Release) error {
	out.Actions = mapNode()
	for i, v := range listAt(d.value, "hooks") {
		at := []string{"hooks", fmt.Sprint(i)}
		command, err := e.hookText(d, textAt(v, "command"), at)
		if err != nil {
			return err
		}
		exec := []string{command}
		for _, arg := range listAt(v, "args") {
			text, err := e.hookText(d, fmt.Sprint(arg), at)
			if err != nil {
				return err
			}
			exec = append(exec, text)
		}
		isIn := func(of []string) bool {
			events := textsOf(listAt(v, "events"))
			return len(events) > 0 && !slices.ContainsFunc(events, func(event string) bool { return !slices.Contains(of, event) })
		}
		isBefore, isAfter := isIn(eventsBefore), isIn(eventsAfter)
		switch {
		case mapAt(v, "kubectlApply") != nil:
			e.note(d.at(at...), d.title(), "hooks", "write the objects that it applies as a release, with depends for the order")
		case !isBefore && !isAfter:
			e.note(d.at(at...), d.title(), "hooks", "fleetc has no such event: write it as an action before or after a release, see docs/actions.md")
		case command == "" || strings.Contains(command, "/"):
			e.note(d.at(at...), d.title(), "hooks", "copy the program into the fleet, and write an action with exec, see docs/actions.md: it runs in the root of the fleet")
		case slices.ContainsFunc(exec, func(text string) bool { return strings.Contains(text, "{{") }):
			e.note(d.at(at...), d.title(), "hooks", "its templates depend on the event: write it as an action, see docs/actions.md")
		default:
			moment := "before"
			if isAfter {
				moment = "after"
			}
			name := cmp.Or(nameOf(textAt(v, "name")), fmt.Sprintf("hook-%d", i+1))
			out.Actions.Set(name, mapNode(Field{"at", textNode(moment)}, Field{"exec", textNodes(exec)}, Field{"applyOnly", &Node{Scalar: true}}))
		}
	}
	return nil
}

// hookText executes the templates in a text of a hook, unless they read the event.
func (e *environmentRun) hookText(d *helmfileRelease, text string, field []string) (string, error) {
	if strings.Contains(text, ".Event") || strings.Contains(text, ".HelmfileCommand") {
		return text, nil
	}
	return e.renderText(d, text, field...)
}
