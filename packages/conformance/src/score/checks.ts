import { chatChecks } from './chat-checks.ts'
import type { Check, ScoredFormat } from './check.ts'
import type { Context } from './context.ts'
import { dialects } from './dialects.ts'
import { type Feature, talking } from './features.ts'
import { failing } from './features-errors.ts'
import { tooling } from './features-tools.ts'
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

const features: readonly Feature[] = [...talking, ...tooling, ...failing]

/** Everything that is asked, format by format, each format’s first check before its others. */
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

/** A check’s name among all. */
export const nameOf = ({ format, feature }: { readonly format: ScoredFormat; readonly feature: string }): string =>
  `${format}/${feature.replaceAll(' ', '-')}`

/** A check as it is told of. */
export interface CheckInfo {
  readonly name: string
  readonly format: ScoredFormat
  readonly feature: string
  /** The fact that a pass proves. */
  readonly proves: string
  /** How many calls it makes, at most. */
  readonly calls: number
}

/** Everything that `score` asks, in order. */
export const checkList: readonly CheckInfo[] = checks.map((check) => {
  const { format, feature, proves, calls } = check
  return { name: nameOf(check), format, feature, proves, calls }
})
