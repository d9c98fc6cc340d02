// What the module adds to Foundry, for the published types.

declare module "fvtt-types/configuration" {
  interface SettingConfig {
    "emberdice.address": string;
    "emberdice.session": string;
    "emberdice.tokens": Record<string, string>;
    "emberdice.characters": Record<string, string>;
    "emberdice.key": string;
  }

  interface FlagConfig {
    ChatMessage: {
      emberdice?: { table: string; event: string; visibility: "public" | "gm" | "blind" | "self" };
    };
  }
}

export {};
