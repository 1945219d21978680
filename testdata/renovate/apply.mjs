// Applies the updates in a report of Renovate to the files of a repository, with
// Renovate's own function for branches: platform=local only looks updates up.
//
//	node apply.mjs RENOVATE REPORT REPOSITORY
import {readFile} from "node:fs/promises";
import path from "node:path";

const [renovate, reportFile, repository] = process.argv.slice(2);
const {GlobalConfig} = await import(path.join(renovate, "dist/config/global.js"));
const {doAutoReplace} = await import(path.join(renovate, "dist/workers/repository/update/branch/auto-replace.js"));

GlobalConfig.set({localDir: repository});
const report = JSON.parse(await readFile(reportFile, "utf8"));
for (const {packageFiles} of Object.values(report.repositories)) {
	for (const [manager, files] of Object.entries(packageFiles)) {
		for (const {deps, ...file} of files) {
			for (const [depIndex, {updates, ...dep}] of deps.entries()) {
				for (const update of updates ?? []) {
					const upgrade = {...file, ...dep, ...update, manager, depIndex};
					const content = await readFile(path.join(repository, file.packageFile), "utf8");
					await doAutoReplace(upgrade, content, false); // writes the file
				}
			}
		}
	}
}
