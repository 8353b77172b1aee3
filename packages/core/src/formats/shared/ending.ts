import type { Format } from '../../base/names.ts'
import type { CodecContext } from '../codec.ts'
import type { Finish } from '../ir.ts'
import { loss } from './report.ts'

/** Endings a format can tell beside those that every format has. */
interface Tellable {
  /** It has a word for an answer that only pauses. */
  pause?: boolean
  /** The format whose own words are written back as they came. */
  words?: Format
}

/** Reports an ending that can only be told as a plain one: whoever goes by the word takes the answer for finished. */
export function reportEnding(
  { reason, raw }: Finish,
  tellable: Tellable,
  choice: string,
  { report }: CodecContext,
): void {
  const at = `${choice}/finish`
  if (raw !== undefined && raw.format === tellable.words) return
  if (reason === 'pause' && !tellable.pause)
    report.add(loss(at, 'the answer only paused; it is told as finished', 'approximated', 'note'))
  if (reason === 'other' && raw !== undefined && raw.value !== '') {
    const word = raw.value.slice(0, 40)
    report.add(loss(at, `the answer ended with '${word}', which is told as finished`, 'approximated', 'note'))
  }
}
