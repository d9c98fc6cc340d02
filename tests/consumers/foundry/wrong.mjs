// What Foundry does not have. Were its types not found, nothing here would be wrong, and the check would say so.

// @ts-expect-error no such function
ChatMessage.crate({});
// @ts-expect-error not a number
Roll.fromData(6);
// @ts-expect-error no such setting
game.settings?.get("emberdice", "secret");
