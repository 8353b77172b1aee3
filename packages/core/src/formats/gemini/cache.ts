import type { CodecContext } from '../codec.ts'
import { pointer } from '../shared/pointer.ts'
import { loss } from '../shared/report.ts'

/** Google caches by itself, or by a name that the client makes first. */
export function reportCache(at: string | undefined, context: CodecContext): void {
  const detail = 'a cache hint has no form in generateContent'
  context.report.add(loss(pointer(at ?? '', 'cache_control'), detail, 'unsupported', 'note'))
}
