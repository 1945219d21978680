// How the extension finds fleets and starts `fleetc lsp`. It does not use VS Code, so that tests run it without an editor.
import {execFile} from "node:child_process";
import {existsSync, statSync} from "node:fs";
import {dirname, join} from "node:path";

/** The user's settings. */
export interface Settings {
	path: string;
	args: readonly string[];
}

/** A program with its arguments. */
export interface Command {
	command: string;
	args: string[];
}

/** The files that the server takes, also those that are not saved yet. */
export const documentSelector = [{scheme: "file", pattern: "**/*.cue"}];

/** The command of the language server. */
export function serverCommand(settings: Settings): Command {
	return {command: settings.path, args: [...settings.args, "lsp"]};
}

/** Returns whether a directory is the root of a fleet: it has cue.mod and environments. */
export function isFleet(dir: string): boolean {
	return (
		existsSync(join(dir, "cue.mod", "module.cue")) &&
		(statSync(join(dir, "environments"), {throwIfNoEntry: false})?.isDirectory() ?? false)
	);
}

/** Returns whether a directory is in a fleet. */
export function isInFleet(dir: string): boolean {
	for (let at = dir; ; at = dirname(at)) {
		if (isFleet(at)) {
			return true;
		}
		if (at === dirname(at)) {
			return false;
		}
	}
}

/** Returns why the language server cannot start, and what to do; undefined if it can. */
export async function serverProblem(settings: Settings): Promise<string | undefined> {
	const {command, args} = serverCommand(settings);
	const timeout = 30_000; // milliseconds, for a program that does not answer
	return new Promise((resolve) => {
		execFile(command, [...args, "--help"], {timeout}, (error, stdout, stderr) => {
			if (error?.code === "ENOENT") {
				resolve(`The program ${command} was not found. Install fleetc, or set fleetc.path to its absolute path.`);
			} else if (error?.code === "EACCES") {
				resolve(`The program ${command} cannot be executed. Set fleetc.path to the program of fleetc.`);
			} else if (error) {
				const [reason] = (stderr || error.message).trim().split("\n");
				resolve(`${[command, ...args].join(" ")} does not start: ${reason}. Check fleetc.path and fleetc.args.`);
			} else if (!/^Usage:\s+fleetc lsp\b/m.test(stdout)) {
				resolve(`The program ${command} has no language server: it is too old or not fleetc. Update fleetc.`);
			} else {
				resolve(undefined);
			}
		});
	});
}
