import { fileURLToPath } from 'node:url'
import { type Running, startProgram } from '../start-example.ts'

/** The program as npm installs it. */
export const program = fileURLToPath(new URL('node_modules/modelgate/bin/modelgate.js', import.meta.url))

/** Runs `npx modelgate …`. Default folder: this one. */
export const modelgate = (
  args: string[],
  env: Record<string, string> = {},
  folder = fileURLToPath(new URL('.', import.meta.url)),
): Running => startProgram(process.execPath, [program, ...args], env, folder)
