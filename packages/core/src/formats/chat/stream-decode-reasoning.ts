import type { Json } from '../../base/json/types.ts'
import type { Part, Report } from '../ir.ts'
import { reportField } from '../shared/report.ts'
import { decodeDetails } from './reasoning.ts'
import type { PartWriter } from './stream-part-writer.ts'

/** Reads the reasoning of one choice, which comes as plain text, as `reasoning_details`, or as both at once. */
export interface ReasoningReader {
  text(text: string): void
  /** The last text again, with others: what it comes to is told by who knows that. */
  more(text: string): void
  /** `plain`: the same reasoning as text, from the same chunk. */
  details(details: readonly Json[], plain: string): void
  close(): void
}

/** @param at where the reasoning stands in the whole answer */
export function createReasoningReader(writer: PartWriter, at: string, report: Report): ReasoningReader {
  let open: { part: number; text: string; sealed: boolean; key: string } | undefined
  /** Seals already told: lists may be cumulative. */
  const seen = new Set<string>()
  /** Texts of closed parts, for the same reason. */
  const told = new Set<string>()

  function close(): void {
    if (open === undefined) return
    told.add(open.text)
    writer.end(open.part)
    open = undefined
  }

  function begin(key: string, summary: boolean): NonNullable<typeof open> {
    close()
    const part = writer.start({ type: 'reasoning', text: '', ...(summary ? { summary: true } : {}), at })
    open = { part, text: '', sealed: false, key }
    return open
  }

  function text(value: string, key = 'text', summary = false): void {
    if (value === '') return
    const current = open === undefined || open.sealed || open.key !== key ? begin(key, summary) : open
    current.text += value
    writer.delta(current.part, { type: 'reasoning', text: value })
  }

  return {
    text,
    more(text) {
      if (open !== undefined) open.text += text
    },
    details(details, plain) {
      let said = false
      for (const part of decodeDetails(details, at.replace(/[^/]*$/, 'reasoning_details'))) {
        reportOwn(part, report)
        if (part.seal !== undefined && seen.has(part.seal.data)) continue
        // Already streamed as plain text, or earlier in a cumulative list: only the seal is news.
        const repeated =
          part.text !== '' &&
          (plain === '' ? open?.text === part.text || (open === undefined && told.has(part.text)) : false)
        if (part.redacted) {
          close()
          if (part.seal !== undefined) seen.add(part.seal.data)
          writer.end(writer.start({ ...part, at }))
          continue
        }
        if (part.text !== '' && !repeated) {
          said = true
          text(part.text, part.summary ? 'summary' : 'text', part.summary === true)
        }
        if (part.seal === undefined) continue
        seen.add(part.seal.data)
        const current = open === undefined || open.sealed ? begin('text', part.summary === true) : open
        current.sealed = true
        writer.delta(current.part, { type: 'seal', seal: part.seal })
      }
      if (!said) text(plain)
    },
    close,
  }
}

/** Reports what an entry says beside its text: the part that the text goes to may have begun long before. */
export function reportOwn(part: Part, report: Report): void {
  for (const key of Object.keys(part.extra?.chat ?? {}))
    reportField(key, part.at ?? '', report, part.extra?.chat?.[key])
}
