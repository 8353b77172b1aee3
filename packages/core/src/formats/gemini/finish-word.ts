import type { Json } from '../../base/json/types.ts'

/** The words by their numbers, which some servers write instead. */
const numbered: readonly string[] = [
  'FINISH_REASON_UNSPECIFIED',
  'STOP',
  'MAX_TOKENS',
  'SAFETY',
  'RECITATION',
  'OTHER',
  'BLOCKLIST',
  'PROHIBITED_CONTENT',
  'SPII',
  'MALFORMED_FUNCTION_CALL',
]

/** A finish word as a text, whatever the upstream wrote; undefined if it says that the answer goes on. */
export function finishWord(value: Json | undefined): string | undefined {
  if (typeof value === 'number') return numbered[value] ?? String(value)
  return typeof value === 'string' && value !== '' && value !== 'FINISH_REASON_UNSPECIFIED' ? value : undefined
}
