import { callsHelp } from './calls/help.ts'
import { checkHelp } from './check/help.ts'
import { initHelp } from './init/help.ts'
import { pricesHelp } from './prices/help.ts'
import { startHelp } from './start/help.ts'
import type { CommandContext } from './terminal/command-context.ts'
import { ownersHelp, tokensHelp } from './tokens/help.ts'

/** A command with its help text. Its implementation is loaded when it runs. */
export interface Command {
  readonly help: string
  load(): Promise<(args: string[], context: CommandContext) => Promise<number | undefined>>
}

export const commands: Readonly<Record<string, Command>> = {
  start: { help: startHelp, load: async () => serving((await import('./start/start.ts')).start) },
  init: { help: initHelp, load: async () => (await import('./init/init.ts')).init },
  check: { help: checkHelp, load: async () => (await import('./check/check.ts')).check },
  calls: { help: callsHelp, load: async () => (await import('./calls/calls.ts')).calls },
  prices: { help: pricesHelp, load: async () => (await import('./prices/prices.ts')).prices },
  tokens: { help: tokensHelp, load: async () => (await import('./tokens/tokens.ts')).tokens },
  owners: { help: ownersHelp, load: async () => (await import('./tokens/tokens.ts')).owners },
}

const serving =
  (start: (args: string[], context: CommandContext) => Promise<void>) =>
  async (args: string[], context: CommandContext): Promise<undefined> => {
    await start(args, context)
  }

export const overview = `Modelgate: one server for OpenAI, Anthropic and Google clients, with the models of any provider.

  npx modelgate                starts the server from modelgate.config.* or from environment variables
  npx modelgate init           writes a configuration
  npx modelgate check          validates the configuration and lists the models of each upstream
  npx modelgate calls          prints the recent calls of a running server; --follow prints new ones, too
  npx modelgate prices check   lists the models without a price
  npx modelgate tokens …       manages your users' tokens: issue, list, show, rotate, revoke, usage
  npx modelgate owners …       manages limits and budgets that all tokens of an owner share

  npx modelgate <command> --help    shows the options of a command; --version prints the version

In five minutes:

  export OPENAI_API_KEY=sk-…         or any other provider's key; without one a demo runs
  npx modelgate                      prints addresses, a token and commands to paste
  npx modelgate init                 for your own model names, fallbacks and limits

Clients need the address as base URL and the token as API key:

  OPENAI_BASE_URL=http://127.0.0.1:8787/v1  OPENAI_API_KEY=<token>        OpenAI's SDKs, Codex
  ANTHROPIC_BASE_URL=http://127.0.0.1:8787  ANTHROPIC_API_KEY=<token>     Anthropic's SDKs, Claude Code
  GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:8787  GEMINI_API_KEY=<token>    Google's SDKs, Gemini CLI
`
