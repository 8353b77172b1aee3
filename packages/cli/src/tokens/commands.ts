import type { Token, Tokens } from '@modelgate/tokens'
import { type Options, text, textOf, type Values } from '../terminal/args.ts'
import { readTokenSettings, settingOptions } from './settings.ts'
import { issuedText, listText, tokenText, usageText } from './text.ts'

/** The result of a command: as JSON and as text. */
export interface CommandResult {
  readonly json: unknown
  readonly text: string
}

/** A sub-command of `modelgate tokens`. */
export interface TokenCommand {
  readonly takesId: boolean
  readonly options: Options
  run(tokens: Tokens, id: string, values: Values): Promise<CommandResult>
}

export const tokenCommands: Readonly<Record<string, TokenCommand>> = {
  issue: {
    takesId: false,
    options: settingOptions,
    run: async (tokens, _id, values) => {
      const token = await tokens.issue(readTokenSettings(values))
      return { json: token, text: issuedText(token) }
    },
  },
  list: {
    takesId: false,
    options: { owner: text },
    run: async (tokens, _id, { owner }) => {
      const all = await everyToken(tokens, typeof owner === 'string' ? { owner } : {})
      return { json: all, text: listText(all, Date.now()) }
    },
  },
  show: {
    takesId: true,
    options: {},
    run: async (tokens, id) => {
      const token = await tokens.get(id)
      if (token === undefined) throw new Error(`Token '${id}' does not exist. \`modelgate tokens list\` shows all ids.`)
      return { json: token, text: tokenText(token) }
    },
  },
  revoke: {
    takesId: true,
    options: {},
    run: async (tokens, id) => {
      const token = await tokens.revoke(id)
      return { json: token, text: `${id} is revoked. The server rejects it within one second.` }
    },
  },
  rotate: {
    takesId: true,
    options: { 'grace-hours': text },
    run: async (tokens, id, values) => {
      const hours = textOf(values['grace-hours'])
      const token = await tokens.rotate(id, hours === undefined ? {} : { graceMs: Number(hours) * 3_600_000 })
      return { json: token, text: issuedText(token) }
    },
  },
  usage: {
    takesId: true,
    options: { from: text, to: text },
    run: async (tokens, id, { from, to }) => {
      const usage = await tokens.usage(id, {
        ...(typeof from === 'string' ? { from } : {}),
        ...(typeof to === 'string' ? { to } : {}),
      })
      return { json: usage, text: usageText(usage) }
    },
  },
}

async function everyToken(tokens: Tokens, query: { owner?: string }): Promise<Token[]> {
  const all: Token[] = []
  let after: string | undefined
  do {
    const page = await tokens.list({ ...query, limit: 1000, ...(after === undefined ? {} : { after }) })
    all.push(...page.tokens)
    after = page.next
  } while (after !== undefined)
  return all
}
