// Writes the licences of the packages that dist/extension.js contains to dist/licenses.txt.
import {readdirSync, readFileSync, writeFileSync} from "node:fs";
import {join} from "node:path";

const {packages} = JSON.parse(readFileSync("package-lock.json", "utf8"));
const texts = [];
for (const [dir, {version, dev}] of Object.entries(packages)) {
	if (dir === "" || dev) {
		continue;
	}
	const file = readdirSync(dir).find((name) => /^licen[sc]e(\.|$)/i.test(name));
	if (!file) {
		throw new Error(`${dir} has no licence`);
	}
	texts.push(`${dir.replace("node_modules/", "")} ${version}\n\n${readFileSync(join(dir, file), "utf8").trim()}\n`);
}
writeFileSync("dist/licenses.txt", texts.join("\n----\n\n"));
