import { fileURLToPath } from 'node:url'
import { type Running, startProgram } from '../start-example.ts'

/** The program as npm installs it. */
export const program = fileURLToPath(new URL('node_modules/modelgate/bin/modelgate.js', import.meta.url))

/** Runs `npx modelgate …` in this folder. */
export const modelgate = (args: string[], env: Record<string, string> = {}): Running =>
  startProgram(process.execPath, [program, ...args], env, fileURLToPath(new URL('.', import.meta.url)))
