import { type ChildProcess, fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Point } from './verdict.ts'

/** One attack to measure. */
export interface Order {
  readonly name: string
  readonly sizes: readonly number[]
  /** Number of runs; the minimum counts. */
  readonly runs: number
  /** Minimum CPU milliseconds of a run: the call is repeated until they are spent. */
  readonly leastMs: number
}

export interface Report {
  readonly name: string
  /** One point per size; empty if the attack did not finish in time. */
  readonly points: readonly Point[]
  readonly status: number
  /** Beginning of the client's response, or the exception. */
  readonly responseStart: string
  /** The attack did not finish in time, and its process was killed. */
  readonly hung?: true
}

/** Starts the measuring process; resolves when it has created its attacks. */
async function start(): Promise<ChildProcess> {
  // Both are bundled, each into the folder of its source.
  const file = fileURLToPath(new URL('./complexity/measuring-process.mjs', import.meta.url))
  // Waiting threads of the garbage collector would count, too, on a busy machine.
  const child = fork(file, {
    execArgv: ['--expose-gc', '--single-threaded-gc'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  await new Promise<void>((resolve, reject) => {
    child.once('message', () => resolve())
    child.once('exit', (code, signal) => reject(new Error(`the measuring process exited (${code ?? signal})`)))
  })
  return child
}

/** A process that measures one attack after another. */
export interface Measurer {
  measure(order: Order): Promise<Report>
  stop(): void
}

/** Returns the CPU milliseconds of a process; undefined if the system does not report them. */
function cpuOf({ pid }: ChildProcess): number | undefined {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    // Ticks of 10 ms, in user and in system mode.
    return (Number(fields[11]) + Number(fields[12])) * 10
  } catch {
    return undefined
  }
}

/** Factor by which a process may wait longer than it works, on a busy machine. */
const waiting = 15

/** @param limitMs CPU milliseconds that one call may take; then the process is killed, and the attack counts as hung */
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
          running.off('message', received).off('exit', ended)
          resolve(report)
        }
        const received = (message: Report | 'called'): void => {
          if (message === 'called') {
            begun = performance.now()
            cpuAtFirst = cpuOf(running)
          } else settle(message)
        }
        const failed = (text: string): void => {
          child = undefined
          running.kill('SIGKILL')
          settle({ name: order.name, points: [], status: 0, responseStart: text, hung: true })
        }
        const ended = (): void => failed('the process exited: out of memory, or a crash')
        const timer = setInterval(() => {
          const cpu = cpuOf(running)
          const spent = cpu === undefined || cpuAtFirst === undefined ? 0 : cpu - cpuAtFirst
          if (spent > limitMs || performance.now() - begun > limitMs * waiting)
            failed(`not finished after ${limitMs} ms of CPU`)
        }, 100)
        running.on('message', received).on('exit', ended)
        running.send(order)
      })
    },
    stop() {
      child?.then((running) => running.kill('SIGKILL')).catch(() => {})
    },
  }
}
