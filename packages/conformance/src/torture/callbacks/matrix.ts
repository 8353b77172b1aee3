import type { Check } from '../check.ts'
import { inParallel } from '../measurements.ts'
import { type Cell, cellsOf, type Subject } from './behaviours.ts'
import { deciderSubjects } from './decider-subjects.ts'
import { observerSubjects } from './observer-subjects.ts'
import { packageSubjects } from './package-subjects.ts'
import { stateSubjects } from './state-subjects.ts'
import { upstreamSubjects } from './upstream-subjects.ts'
import { sendAll, worldWith } from './world.ts'

export const subjects = [
  ...deciderSubjects,
  ...observerSubjects,
  ...stateSubjects,
  ...upstreamSubjects,
  ...packageSubjects,
] as const satisfies readonly Subject[]

export type SubjectName = (typeof subjects)[number]['name']

/** Results of the matrix. */
export interface Found {
  readonly cells: number
  readonly held: number
  /** Defects, cell by cell. */
  readonly complaints: readonly string[]
  readonly unhandled: readonly string[]
}

/** A cell takes at most half a second, because its limits are milliseconds. After this time, a call hangs. */
const hangsMs = 60_000
/** Time for unhandled rejections to appear after the last cell. */
const restMs = 600

const shown = (value: unknown): string => {
  try {
    return JSON.stringify(value) ?? String(value)
  } catch {
    return typeof value
  }
}

const titleOf = ({ name }: Subject, { behaviour, garbage }: Cell): string =>
  `${name} ${behaviour}${behaviour.endsWith('garbage') ? ` (${shown(garbage)})` : ''}`

async function complaintsOf(subject: Subject, cell: Cell): Promise<readonly string[]> {
  let timer: NodeJS.Timeout | undefined
  const hangs = new Promise<readonly string[]>((resolve) => {
    timer = setTimeout(() => resolve(['a call hangs']), hangsMs)
  })
  try {
    return await Promise.race([subject.attempt(cell), hangs])
  } catch (error) {
    return [`the attempt itself failed: ${error instanceof Error ? error.stack : String(error)}`]
  } finally {
    clearTimeout(timer)
  }
}

/** Runs every cell of these subjects. */
export async function tryMatrix(chosen: readonly Subject[] = subjects): Promise<Found> {
  const unhandled: string[] = []
  const onUnhandled = (reason: unknown): void => void unhandled.push(String(reason))
  process.on('unhandledRejection', onUnhandled)
  try {
    // Loads lazy modules first, which takes longer than the limits of the other calls.
    await sendAll(worldWith({ limits: { callbackMs: 60_000 } }).gateway)
    const cells = chosen.flatMap((subject) => cellsOf(subject).map((cell) => ({ subject, cell })))
    const complaints: string[] = []
    let held = 0
    await inParallel(cells, 8, async ({ subject, cell }) => {
      const wrong = await complaintsOf(subject, cell)
      if (wrong.length === 0) held++
      complaints.push(...wrong.map((words) => `${titleOf(subject, cell)}: ${words}`))
    })
    await new Promise((resolve) => setTimeout(resolve, restMs))
    return { cells: cells.length, held, complaints, unhandled }
  } finally {
    process.off('unhandledRejection', onUnhandled)
  }
}

export const callbackMatrix: Check = {
  row: 47,
  group: 'callbacks',
  title: 'Callback matrix',
  promise:
    'A function that the host supplies may throw, reject, never settle, settle too late or return garbage: deciders refuse, observers are ignored, nothing hangs and no rejection is unhandled',
  async run({ target }) {
    if (target.local === undefined) return { skipped: 'functions cannot be given to a gateway in another process' }
    const { cells, held, complaints, unhandled } = await tryMatrix()
    return {
      held: held === cells && unhandled.length === 0,
      figure: `${held}/${cells} cells of ${subjects.length} functions, ${unhandled.length} unhandled rejections`,
      notes: [...complaints, ...unhandled.map((reason) => `unhandled: ${reason}`)],
    }
  },
}
