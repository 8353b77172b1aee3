import type { Owner, Token, Tokens } from '@modelgate/tokens'
import { type Options, text, textOf, type Values } from '../terminal/args.ts'
import { limitOptions, readLimits, readTokenSettings, settingOptions } from './settings.ts'
import { issuedText, listText, ownerListText, ownerText, tokenText, usageText } from './text.ts'

/** The result of a command: as JSON and as text. */
export interface CommandResult {
  readonly json: unknown
  readonly text: string
}

/** A sub-command of `modelgate tokens` or `modelgate owners`. */
export interface TokenCommand {
  /** True if its argument is the id of a token, or an owner. */
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

export const ownerCommands: Readonly<Record<string, TokenCommand>> = {
  set: {
    takesId: true,
    options: limitOptions,
    run: async (tokens, owner, values) => {
      const set = await tokens.owners.set(owner, readLimits(values, 'owners'))
      return { json: set, text: ownerText(set) }
    },
  },
  list: {
    takesId: false,
    options: {},
    run: async (tokens) => {
      const all = await everyOwner(tokens)
      return { json: all, text: ownerListText(all) }
    },
  },
  show: {
    takesId: true,
    options: {},
    run: async (tokens, name) => {
      const owner = await tokens.owners.get(name)
      if (owner === undefined)
        throw new Error(`Owner '${name}' has no limits or budgets. \`modelgate owners list\` shows all that have.`)
      return { json: owner, text: ownerText(owner) }
    },
  },
  delete: {
    takesId: true,
    options: {},
    run: async (tokens, name) => {
      if (!(await tokens.owners.delete(name))) throw new Error(`Owner '${name}' has no limits or budgets.`)
      return { json: { owner: name, deleted: true }, text: `${name} no longer has limits or budgets.` }
    },
  },
  usage: {
    takesId: true,
    options: { from: text, to: text },
    run: async (tokens, owner, { from, to }) => {
      const usage = await tokens.owners.usage(owner, {
        ...(typeof from === 'string' ? { from } : {}),
        ...(typeof to === 'string' ? { to } : {}),
      })
      return { json: usage, text: usageText(usage) }
    },
  },
}

async function everyOwner({ owners }: Tokens): Promise<Owner[]> {
  const all: Owner[] = []
  let after: string | undefined
  do {
    const page = await owners.list({ limit: 1000, ...(after === undefined ? {} : { after }) })
    all.push(...page.owners)
    after = page.next
  } while (after !== undefined)
  return all
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
