import type { ModelEvent, Report } from '../ir.ts'
import { loss } from './report.ts'

type Start = Extract<ModelEvent, { type: 'response-start' }>

/**
 * Characters that a value of a response's frame (id, model, service tier, vendor fields) may have. Some formats repeat the frame in
 * every event: without a bound, one long value and many small events would become their product.
 */
const longestFrameValue = 1024

/** Returns the event without the values that are longer; the same event if there are none. What is left out is reported. */
export function boundFrame(event: Start, report: Report): Start {
  const { id, model, serviceTier, extra } = event
  const tooLong = (path: string, text: string): boolean => {
    if (text.length <= longestFrameValue) return false
    report.add(loss(path, `it is longer than ${longestFrameValue} characters`))
    return true
  }
  let out = event
  if (tooLong('/id', id)) out = { ...out, id: '' }
  if (tooLong('/model', model)) out = { ...out, model: '' }
  if (serviceTier !== undefined && tooLong('/service_tier', serviceTier)) {
    const { serviceTier: _, ...rest } = out
    out = rest
  }
  if (extra === undefined) return out
  for (const [format, fields] of Object.entries(extra))
    for (const [key, value] of Object.entries(fields ?? {}))
      if (tooLong(`/${key}`, JSON.stringify(value))) {
        const { [key]: _, ...others } = out.extra?.[format as keyof typeof extra] ?? {}
        out = { ...out, extra: { ...out.extra, [format]: others } }
      }
  return out
}
