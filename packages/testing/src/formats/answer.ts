import type { FinishWord, ScriptedCitation, UsageNumbers } from '../contract/script.ts'

/** A block of a response, before a format renders it. */
export type Block =
  /** `tokens` counts the thinking, although its text may be withheld. */
  | { readonly type: 'thinking'; readonly text: string; readonly signature: string; readonly tokens: number }
  | { readonly type: 'redacted'; readonly data: string }
  | { readonly type: 'text'; readonly text: string; readonly citations: readonly ScriptedCitation[] }
  | { readonly type: 'refusal'; readonly text: string }
  | {
      readonly type: 'tool-call'
      readonly id: string
      readonly name: string
      readonly input: string
      readonly custom: boolean
      /** Group of tools that the tool belongs to. */
      readonly namespace: string | undefined
      /** Type of a tool that is built into the format. */
      readonly native: string | undefined
    }

export interface AnswerChoice {
  readonly blocks: readonly Block[]
  readonly finish: FinishWord | (string & {})
  readonly sequence: string | undefined
}

/** A complete response, independent of the format. */
export interface Answer {
  readonly id: string
  readonly model: string
  /** Seconds since 1970. */
  readonly created: number
  readonly choices: readonly AnswerChoice[]
  readonly usage: UsageNumbers
}
