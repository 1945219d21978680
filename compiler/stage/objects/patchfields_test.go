package objects

import "testing"

func TestFieldFaults(t *testing.T) {
	testFaults(t, []faultTest{
		{"unknown fields", []string{`{target: {kinds: [Deployment]}, strategic: {spec: {templte: {}, template: {spec: {containers: [{name: web, imge: x}]}}}}}`}, `
fleet.cue:10:2: releases."my-web".patches.p0.strategic.spec.template.spec.containers.0.imge: Deployment.apps web: Container has no such field in Kubernetes 1.36 [FL1512]
    hint: did you mean image?
fleet.cue:10:2: releases."my-web".patches.p0.strategic.spec.templte: Deployment.apps web: DeploymentSpec has no such field in Kubernetes 1.36 [FL1512]
    hint: did you mean template?
`},
		{"unknown to the cluster", []string{`{target: {kinds: [ConfigMap]}, merge: {spec: {}}}`, `{target: {kinds: [Deployment]}, merge: {metadata: {selfLin: a}}}`}, `
fleet.cue:10:2: releases."my-web".patches.p0.merge.spec: ConfigMap other/settings: no such field in Kubernetes 1.36 [FL1512]
    hint: choose the kinds that have it, as target: kinds: [...]
fleet.cue:11:2: releases."my-web".patches.p1.merge.metadata.selfLin: Deployment.apps web: ObjectMeta has no such field in Kubernetes 1.36 [FL1512]
    hint: did you mean selfLink?
`},
		{"a patch of all for one kind", []string{`{strategic: {spec: {replicas: 1}}}`}, `
fleet.cue:10:2: releases."my-web".patches.p0.strategic.spec: ConfigMap other/settings, Secret keys: no such field in Kubernetes 1.36 [FL1512]
    hint: choose the kinds that have it, as target: kinds: [...]
fleet.cue:10:2: releases."my-web".patches.p0.strategic.spec.replicas: CronJob.batch nightly: CronJobSpec has no such field in Kubernetes 1.36 [FL1512]
    hint: use one of concurrencyPolicy, failedJobsHistoryLimit, jobTemplate, schedule, startingDeadlineSeconds, successfulJobsHistoryLimit, suspend, timeZone
`},
		{"the same with several objects is one fault", []string{`{merge: {metadata: {lables: {}}}, target: {kinds: [Deployment, ConfigMap, Secret, CronJob]}}`}, `
fleet.cue:10:2: releases."my-web".patches.p0.merge.metadata.lables: Deployment.apps web, ConfigMap other/settings, Secret keys and 1 more: ObjectMeta has no such field in Kubernetes 1.36 [FL1512]
    hint: did you mean labels?
`},
		{"a field of a later version", []string{`{target: {kinds: [Deployment]}, strategic: {spec: {template: {spec: {containers: [{name: web, restartPolicyRules: []}]}}}}}`}, `
fleet.cue:10:2: releases."my-web".patches.p0.strategic.spec.template.spec.containers.0.restartPolicyRules: Deployment.apps web: Container has no such field in Kubernetes 1.33: it exists from 1.34 [FL1512]
    hint: remove it
`},
		{"directives", []string{
			`{target: {kinds: [Deployment]}, strategic: {spec: {$patch: remove}}}`,
			`{target: {kinds: [ConfigMap]}, strategic: {data: {$retainKeys: [a], b: c}}}`,
			`{target: {kinds: [Secret]}, strategic: {metadata: {$setElementOrder/finalizers: a}}}`,
			`{target: {kinds: [CronJob]}, merge: {$patch: delete}}`,
			`{target: {kinds: [Widget]}, strategic: {spec: {parts: [{name: a, $patch: delete}]}}}`,
		}, `
fleet.cue:10:2: releases."my-web".patches.p0.strategic.spec.$patch: Deployment.apps web: is "remove", which is not a valid directive [FL1512]
    hint: use one of delete, merge, replace
fleet.cue:11:2: releases."my-web".patches.p1.strategic.data.$retainKeys: ConfigMap other/settings: does not have b, which the patch sets [FL1512]
    hint: add it to the list
fleet.cue:12:2: releases."my-web".patches.p2.strategic.metadata."$setElementOrder/finalizers": Secret keys: is a string, not a list [FL1512]
    hint: write the items of the list
fleet.cue:13:2: releases."my-web".patches.p3.merge.$patch: CronJob.batch nightly: is a directive of a strategic merge, and this is a JSON merge patch [FL1512]
    hint: write it under strategic
fleet.cue:14:2: releases."my-web".patches.p4.strategic.spec.parts.0.$patch: Widget.example.com wheel: deletes an item of a list that does not merge: the patch replaces the whole list [FL1512]
    hint: write the complete new list
`},
		{"containers without an image", []string{
			`{target: {kinds: [Deployment]}, strategic: {spec: {template: {spec: {containers: [{name: wbe, tty: true}, {name: new, image: x}, {name: web, tty: true}], initContainers: [{name: fetch}]}}}}}`,
			`{target: {kinds: [CronJob]}, merge: {spec: {jobTemplate: {spec: {template: {spec: {containers: [{name: job, tty: true}]}}}}}}}`,
		}, `
fleet.cue:10:2: releases."my-web".patches.p0.strategic.spec.template.spec.containers.0.name: Deployment.apps web: has no container wbe, and the patch adds it without an image [FL1512]
    hint: did you mean web?
fleet.cue:10:2: releases."my-web".patches.p0.strategic.spec.template.spec.initContainers.0.name: Deployment.apps web: has no container fetch, and the patch adds it without an image [FL1512]
    hint: set its image
fleet.cue:11:2: releases."my-web".patches.p1.merge.spec.jobTemplate.spec.template.spec.containers.0.image: CronJob.batch nightly: is missing: a JSON merge patch replaces the whole list [FL1512]
    hint: write it under strategic, which merges containers by name, or write the complete list
`},
		{"deleting items", []string{
			`{target: {kinds: [Deployment]}, strategic: {spec: {template: {spec: {containers: [{$patch: delete}], initContainers: [{name: setup, $patch: replace}]}}}}}`,
		}, `
fleet.cue:10:2: releases."my-web".patches.p0.strategic.spec.template.spec.containers.0.$patch: Deployment.apps web: deletes an item, and does not say which: it has no name [FL1512]
    hint: add the name of the item
fleet.cue:10:2: releases."my-web".patches.p0.strategic.spec.template.spec.initContainers.0.$patch: Deployment.apps web: replaces the whole list, and must not have other fields [FL1512]
    hint: add {$patch: "replace"} as a separate item, and the new items of the list
`},
	})
}
