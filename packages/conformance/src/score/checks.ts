import { chatChecks } from './chat-checks.ts'
import type { Check, ScoredFormat } from './check.ts'
import type { Context } from './context.ts'
import { dialects } from './dialects.ts'
import { type Feature, textFeatures } from './features.ts'
import { errorFeatures } from './features-errors.ts'
import { toolFeatures } from './features-tools.ts'
import { geminiChecks } from './gemini-checks.ts'
import { messagesChecks } from './messages-checks.ts'
import { mediaOperations } from './operations-media.ts'
import { modelOperations } from './operations-models.ts'
import { realtimeOperations } from './operations-realtime.ts'
import { textOperations } from './operations-text.ts'
import { responsesChecks } from './responses-checks.ts'

const own: Readonly<Record<keyof typeof dialects, readonly Omit<Check, 'format'>[]>> = {
  chat: chatChecks,
  messages: messagesChecks,
  gemini: geminiChecks,
  responses: responsesChecks,
}

const features: readonly Feature[] = [...textFeatures, ...toolFeatures, ...errorFeatures]

/** All checks, grouped by format. The first check of a format precedes its others. */
export const checks: readonly Check[] = [
  ...(Object.keys(dialects) as (keyof typeof dialects)[]).flatMap((format): Check[] => [
    ...features
      .filter((feature) => feature.in?.(dialects[format]) ?? true)
      .map(({ in: _, run, ...feature }) => ({
        ...feature,
        format,
        run: (context: Context) => run(context, dialects[format]),
      })),
    ...own[format].map((check) => ({ ...check, format })),
  ]),
  ...textOperations,
  ...mediaOperations,
  ...modelOperations,
  ...realtimeOperations,
]

/** Returns a check's full name, `chat/stream-usage`. */
export const nameOf = ({ format, feature }: { readonly format: ScoredFormat; readonly feature: string }): string =>
  `${format}/${feature.replaceAll(' ', '-')}`

/** Public description of a check. */
export interface CheckInfo {
  readonly name: string
  readonly format: ScoredFormat
  readonly feature: string
  /** The fact that a passed check proves. */
  readonly proves: string
  /** Maximum number of calls. */
  readonly calls: number
}

/** All checks of `score`, in order. */
export const checkList: readonly CheckInfo[] = checks.map((check) => {
  const { format, feature, proves, calls } = check
  return { name: nameOf(check), format, feature, proves, calls }
})
