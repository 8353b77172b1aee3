// Entry point of `pnpm runtimes`.
import { fileURLToPath } from 'node:url'
import { runKit } from './kit.js'

process.env.MODELGATE_CONFORMANCE = fileURLToPath(new URL('.', import.meta.url))
await runKit('runtimes', ['main'])
