import { checkHelp } from './check/help.ts'
import { initHelp } from './init/help.ts'
import { startHelp } from './start/help.ts'
import { tokensHelp } from './tokens/help.ts'
import type { World } from './world.ts'

/** A command: its help, and what runs it, loaded when it is called. */
export interface Command {
  readonly help: string
  load(): Promise<(args: string[], world: World) => Promise<number | undefined>>
}

export const commands: Readonly<Record<string, Command>> = {
  start: { help: startHelp, load: async () => serving((await import('./start/start.ts')).start) },
  init: { help: initHelp, load: async () => (await import('./init/init.ts')).init },
  check: { help: checkHelp, load: async () => (await import('./check/check.ts')).check },
  tokens: { help: tokensHelp, load: async () => (await import('./tokens/tokens.ts')).tokens },
}

const serving =
  (start: (args: string[], world: World) => Promise<void>) =>
  async (args: string[], world: World): Promise<undefined> => {
    await start(args, world)
  }

export const overview = `Modelgate: one server that answers OpenAI's, Anthropic's and Google's clients from any provider's models.

  npx modelgate                starts it, from modelgate.config.* or from the environment alone
  npx modelgate init           writes a configuration
  npx modelgate check          looks at the configuration, and asks each upstream for its models
  npx modelgate tokens …       issues tokens to your users: issue, list, show, rotate, revoke, usage

  npx modelgate <command> --help    says more; --version says which one this is

In five minutes:

  export OPENAI_API_KEY=sk-…         or any other provider's key; without one a demo answers
  npx modelgate                      prints addresses, a token and lines to paste
  npx modelgate init                 when you want models of your own names, fallbacks, limits

Clients need nothing but the address and the token, as base URL and API key:

  OPENAI_BASE_URL=http://127.0.0.1:8787/v1  OPENAI_API_KEY=<token>        OpenAI's SDKs, Codex
  ANTHROPIC_BASE_URL=http://127.0.0.1:8787  ANTHROPIC_API_KEY=<token>     Anthropic's SDKs, Claude Code
  GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:8787  GEMINI_API_KEY=<token>    Google's SDKs, Gemini CLI
`
