import type { Check } from '../check.ts'
import { subjects, tryMatrix } from './matrix.ts'

const callbackMatrix: Check = {
  row: 47,
  group: 'callbacks',
  title: 'Callback matrix',
  promise:
    'A function that the host supplies may throw, reject, never settle, settle too late or return garbage: deciders refuse, observers are ignored, nothing hangs and no rejection is unhandled',
  async run({ target }) {
    if (target.own === undefined) return { skipped: 'functions cannot be given to a gateway in another process' }
    const { cells, held, complaints, unhandled } = await tryMatrix()
    return {
      held: held === cells && unhandled.length === 0,
      figure: `${held}/${cells} cells of ${subjects.length} functions, ${unhandled.length} unhandled rejections`,
      notes: [...complaints, ...unhandled.map((reason) => `unhandled: ${reason}`)],
    }
  },
}

export const callbackChecks: readonly Check[] = [callbackMatrix]
