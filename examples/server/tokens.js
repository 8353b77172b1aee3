// Issues tokens for the example server, lists and ends them: beside the running server, which sees it within a second.
// `node examples/server/tokens.js --help` says more.
import { existsSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { openTokens } from './open-tokens.js'
import { help } from './tokens-help.js'
import { readSettings, settingOptions } from './tokens-settings.js'
import { issuedText, listText, tokenText, usageText } from './tokens-text.js'

/** @typedef {import('@modelgate/tokens').Tokens} Tokens */
/** @typedef {{ [name: string]: string | boolean | string[] | undefined }} Values */
/** What a command answers: for programs, and for people. @typedef {{ json: unknown, text: string }} Answer */
/** @typedef {(tokens: Tokens, id: string, values: Values) => Promise<Answer>} Run */
/** @typedef {{ takesId: boolean, options: NonNullable<import('node:util').ParseArgsConfig['options']>, run: Run }} Command */

/** A mistake of who typed the command. */
class UsageError extends Error {}

const text = /** @type {const} */ ({ type: 'string' })

/** @type {{ [name: string]: Command }} */
const commands = {
  issue: {
    takesId: false,
    options: settingOptions,
    run: async (tokens, _id, values) => {
      const token = await tokens.issue(readSettings(values))
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
      if (token === undefined) throw new Error(`there is no token '${id}': \`list\` tells the ids`)
      return { json: token, text: tokenText(token) }
    },
  },
  revoke: {
    takesId: true,
    options: {},
    run: async (tokens, id) => {
      const token = await tokens.revoke(id)
      return { json: token, text: `${id} is revoked. The server refuses it within a second.` }
    },
  },
  rotate: {
    takesId: true,
    options: { 'grace-hours': text },
    run: async (tokens, id, values) => {
      const hours = values['grace-hours']
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

/** @param {Tokens} tokens @param {{ owner?: string }} query */
async function everyToken(tokens, query) {
  const all = []
  let after
  do {
    const page = await tokens.list({ ...query, limit: 1000, ...(after === undefined ? {} : { after }) })
    all.push(...page.tokens)
    after = page.next
  } while (after !== undefined)
  return all
}

/** @param {string[]} args */
async function main(args) {
  const [name = '', ...rest] = args
  if (name === '' || name === 'help' || args.includes('--help') || args.includes('-h')) return console.log(help)
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (command === undefined) throw new UsageError(`there is no command '${name}'`)
  const { values, positionals } = parse(rest, command)
  const [id = '', extra] = positionals
  if (command.takesId && id === '') throw new UsageError(`${name} needs the id of a token: ${name} tok_…`)
  const tooMuch = command.takesId ? extra : positionals[0]
  if (tooMuch !== undefined) throw new UsageError(`'${tooMuch}' is one word too many for ${name}`)
  const { data = process.env.MODELGATE_DATA, json } = values
  if (typeof data !== 'string' || data === '')
    throw new UsageError('it is not known where the tokens are: set MODELGATE_DATA as for the server, or give --data')
  if (name !== 'issue' && !existsSync(data)) throw new Error(`there are no tokens in '${data}': no such folder`)
  // The ledger is the server's: nothing is called from here.
  const tokens = openTokens({ ...process.env, MODELGATE_DATA: data, MODELGATE_LEDGER: undefined })
  try {
    const answer = await command.run(tokens, id, values)
    console.log(json === true ? JSON.stringify(answer.json, null, 2) : answer.text)
  } finally {
    await tokens.close()
  }
}

/** @param {string[]} args @param {Command} command @returns {{ values: Values, positionals: string[] }} */
function parse(args, { options }) {
  try {
    return parseArgs({
      args,
      options: { ...options, data: text, json: { type: 'boolean' } },
      allowPositionals: true,
    })
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

try {
  await main(process.argv.slice(2))
} catch (error) {
  const message = error instanceof Error ? error.message : String(error)
  const wrong = error instanceof UsageError
  console.error(`modelgate: ${message}${wrong ? '\nnode examples/server/tokens.js --help tells what can be said' : ''}`)
  process.exitCode = wrong ? 2 : 1
}
