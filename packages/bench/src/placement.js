// CPU placement of processes: proxies share one CPU, load and upstream the other, so that they do not compete.
import { spawnSync } from 'node:child_process'
import os from 'node:os'

const pinned = os.availableParallelism() > 1 && spawnSync('taskset', ['-c', '0', 'true']).status === 0

export const proxyCpu = pinned ? 0 : undefined
export const loadCpu = pinned ? 1 : undefined
export const placement = pinned ? 'proxies pinned to CPU 0, load and upstream to CPU 1' : 'processes not pinned to CPUs'
export const machine = `Node ${process.versions.node}, ${os.availableParallelism()} CPUs (${os.cpus()[0]?.model.trim() ?? 'unknown'})`

/** Reads a number from the environment. @param {string} name @param {number} otherwise */
export const setting = (name, otherwise) => Number(process.env[name] ?? otherwise)
