export * from '@modelgate/core'
export { defineConfig, type ModelgateConfig } from './config/define-config.ts'
