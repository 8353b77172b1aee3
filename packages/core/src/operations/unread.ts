import type { Report } from '../formats/ir.ts'
import type { Unread } from '../formats/shared/json-fields.ts'
import { pointer } from '../formats/shared/pointers.ts'
import { loss } from '../formats/shared/report.ts'

/** Fields whose loss changes no answer. */
const harmless: ReadonlySet<string> = new Set(['user', 'priority', 'metadata', 'safety_identifier'])

/** Reports what a decoder did not take: nobody on the other side can read it. Nulls say nothing. */
export function reportUnread(fields: Unread, report: Report, at = ''): void {
  for (const key of Object.keys(fields))
    if (fields[key] != null)
      report.add(
        loss(
          pointer(at, key),
          `${key} has no counterpart in the upstream's dialect`,
          'unsupported',
          harmless.has(key) ? 'note' : 'warn',
        ),
      )
}
