import { type ChildProcess, fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Point } from './verdict.ts'

/** One attack to be measured. */
export interface Order {
  readonly name: string
  readonly sizes: readonly number[]
  /** The least of so many counts. */
  readonly runs: number
  /** CPU milliseconds of a run at least: a call is made again until they are spent. */
  readonly leastMs: number
}

export interface Report {
  readonly name: string
  /** One per size; empty if the attack did not finish in time. */
  readonly points: readonly Point[]
  readonly status: number
  /** How the client's answer began, or what was thrown. */
  readonly said: string
  /** It was not over in time, and its process was ended. */
  readonly hung?: true
}

/** Starts the process that measures; resolves once it has made its attacks. */
async function start(): Promise<ChildProcess> {
  // Both are bundled, each into the folder of its source.
  const file = fileURLToPath(new URL('./complexity/measuring-process.mjs', import.meta.url))
  // Threads of the collector that wait for one another would count, too, on a machine that others use.
  const child = fork(file, {
    execArgv: ['--expose-gc', '--single-threaded-gc'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  await new Promise<void>((resolve, reject) => {
    child.once('message', () => resolve())
    child.once('exit', (code, signal) => reject(new Error(`the measuring process ended (${code ?? signal})`)))
  })
  return child
}

/** A process that measures one attack after another. */
export interface Measurer {
  measure(order: Order): Promise<Report>
  stop(): void
}

/** CPU milliseconds that a process has used; undefined where the system does not say. */
function cpuOf({ pid }: ChildProcess): number | undefined {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    // Ticks of 10 ms, in user and in system mode.
    return (Number(fields[11]) + Number(fields[12])) * 10
  } catch {
    return undefined
  }
}

/** On a machine that others use too, a process may wait this many times as long as it works. */
const waiting = 15

/** @param limitMs CPU milliseconds that one call may take; the process is ended then, and its attack counts as hung */
export function createMeasurer(limitMs: number): Measurer {
  let child: Promise<ChildProcess> | undefined
  return {
    async measure(order) {
      child ??= start()
      const running = await child
      return new Promise((resolve) => {
        let begun = performance.now()
        let cpuAtFirst = cpuOf(running)
        const settle = (report: Report): void => {
          clearInterval(timer)
          running.off('message', heard).off('exit', ended)
          resolve(report)
        }
        const heard = (message: Report | 'called'): void => {
          if (message === 'called') {
            begun = performance.now()
            cpuAtFirst = cpuOf(running)
          } else settle(message)
        }
        const failed = (said: string): void => {
          child = undefined
          running.kill('SIGKILL')
          settle({ name: order.name, points: [], status: 0, said, hung: true })
        }
        const ended = (): void => failed('the process ended: out of memory, or a crash')
        const timer = setInterval(() => {
          const cpu = cpuOf(running)
          const spent = cpu === undefined || cpuAtFirst === undefined ? 0 : cpu - cpuAtFirst
          if (spent > limitMs || performance.now() - begun > limitMs * waiting)
            failed(`not over after ${limitMs} ms of CPU`)
        }, 100)
        running.on('message', heard).on('exit', ended)
        running.send(order)
      })
    },
    stop() {
      child?.then((running) => running.kill('SIGKILL')).catch(() => {})
    },
  }
}
